/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "server/http/private.h"

enum { TICK_US = 25000, BODY_BYTES_PER_SECOND = 65536 };

struct watched {
    watched *next, *previous;
    int fd;               /* open as long as this is listed */
    uint8_t address[16];  /* of the peer, IPv4 mapped */
    bool loopback, fresh; /* fresh: no request has been complete yet */
    bool cut;             /* shut down already */
    bool lost;            /* does not count */
    bool tls;
    exchange *exchange; /* NULL: idle */
    int ticks_gone;     /* for how long a body has been broken off */
    stage stage;
    int64_t deadline_us;
};

struct watch {
    http_server *server;
    pthread_mutex_t lock; /* over all below and over every watched */
    pthread_cond_t changed;
    watched *first;
    int64_t count;
    bool ending;
    pthread_t thread;
};

/* ---- Cutting -------------------------------------------------------------------------- */

/* Sends what the socket takes without waiting and shuts it down; the library then
 * meets its end. The lock is held, so the descriptor is still this connection's. */
static void cut(watched *c, const text *last_words)
{
    /* What goes past the library goes past its TLS too. */
    if (c->tls)
        last_words = NULL;

    if (c->cut)
        return;
    c->cut = true;
    if (last_words != NULL)
        (void)!send(c->fd, last_words->bytes, last_words->length, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(c->fd, SHUT_RDWR);
}

void watch_cut(watch *w, watched *c, const text *last_words)
{
    pthread_mutex_lock(&w->lock);
    cut(c, last_words);
    pthread_mutex_unlock(&w->lock);
}

/* A late connection is told so if it has said what it wants. */
static void cut_late(watched *c)
{
    error err = {0};
    text last_words;

    if (c->exchange == NULL) {
        cut(c, NULL);
        return;
    }
    error_set(&err, ERR_TIMEOUT,
              c->stage == STAGE_BODY ? "The body did not arrive in time."
                                     : "The headers did not arrive in time.");
    text_init(&last_words);
    reply_add_raw(&last_words, c->exchange->request.id, &err);
    cut(c, &last_words);
    text_clear(&last_words);
}

/* Whether the client has closed its side. */
static bool has_left(const watched *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* Whether the client closed its side before all of the body came: nothing is left to be
 * read, and has not been for a while. */
static bool broke_off(watched *c)
{
    enum { TICKS = 4 };
    int unread = 0;

    if (!has_left(c) || ioctl(c->fd, FIONREAD, &unread) != 0 || unread > 0)
        c->ticks_gone = 0;
    else
        c->ticks_gone++;
    return c->ticks_gone >= TICKS;
}

/* Wakes a connection that waits for its source: if that is ready, the client has left, or
 * the server stops. */
static void look_at_sleeper(watched *c)
{
    exchange *x = c->exchange;

    if (has_left(c))
        x->request.cancel = 1; /* then nothing more is sent */
    else if (!x->server->stopping && !x->answer.source.ready(x->answer.source.state))
        return;
    x->asleep = false;
    MHD_resume_connection(x->connection);
}

static void look_at(watched *c, int64_t now)
{
    if (c->exchange != NULL && c->exchange->asleep) {
        look_at_sleeper(c);
        return;
    }
    if (c->stage == STAGE_BODY && broke_off(c)) {
        cut(c, NULL);
        return;
    }
    if (c->stage == STAGE_RUNNING && c->exchange != NULL) {
        if (c->exchange->request.cancel == 0 && has_left(c))
            c->exchange->request.cancel = 1;
    } else if (now > c->deadline_us) {
        cut_late(c);
    }
}

/* ---- The thread ------------------------------------------------------------------------ */

static void wait_tick(watch *w)
{
    struct timespec until;

    if (w->first == NULL) {
        pthread_cond_wait(&w->changed, &w->lock);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_US * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

static void *keep_watch(void *state)
{
    watch *w = state;

    pthread_mutex_lock(&w->lock);
    while (!w->ending) {
        int64_t now = clock_us();

        for (watched *c = w->first; c != NULL; c = c->next)
            look_at(c, now);
        pthread_mutex_unlock(&w->lock);
        pool_expire(w->server->pool);
        pthread_mutex_lock(&w->lock);
        if (!w->ending)
            wait_tick(w);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

watch *watch_new(http_server *s)
{
    watch *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;

    if (w == NULL)
        abort();
    w->server = s;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&w->thread, NULL, keep_watch, w) != 0)
        abort();
    return w;
}

void watch_free(watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* ---- The list ---------------------------------------------------------------------------- */

/* Notes who the peer is. */
static void note_address(watched *c, const struct sockaddr *peer)
{
    struct in6_addr address = {0};

    if (peer->sa_family == AF_UNIX) {
        c->loopback = true;
        return;
    }
    if (peer->sa_family == AF_INET6) {
        address = ((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr;
        c->loopback = IN6_IS_ADDR_LOOPBACK(&address);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)peer;

        memcpy(address.s6_addr + 12, &four->sin_addr, 4);
        c->loopback = address.s6_addr[12] == 127;
    }
    memcpy(c->address, address.s6_addr, sizeof c->address);
}

watched *watch_open(watch *w, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *fd =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    watched *c = calloc(1, sizeof *c);

    if (c == NULL)
        abort();
    c->fd = fd->connect_fd;
    c->fresh = true;
    c->tls = w->server->options.tls_cert != NULL;
    c->deadline_us = clock_us() + w->server->options.header_us_max;
    note_address(c, peer->client_addr);
    pthread_mutex_lock(&w->lock);
    c->next = w->first;
    if (w->first != NULL)
        w->first->previous = c;
    w->first = c;
    w->count++;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    return c;
}

void watch_close(watch *w, watched *c)
{
    pthread_mutex_lock(&w->lock);
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        w->first = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    w->count -= !c->lost;
    pthread_mutex_unlock(&w->lock);
    free(c);
}

const uint8_t *watch_address(const watched *c)
{
    static const uint8_t none[sizeof c->address];

    return memcmp(c->address, none, sizeof none) == 0 ? NULL : c->address;
}

void watch_lost(watch *w, watched *c)
{
    pthread_mutex_lock(&w->lock);
    w->count -= !c->lost;
    c->lost = true;
    pthread_mutex_unlock(&w->lock);
}

/* When a connection that has reached a stage is late. */
static int64_t deadline_of(const watch *w, const watched *c, const exchange *x, stage stage)
{
    const http_options *o = &w->server->options;

    if (x == NULL)
        return clock_us() + o->idle_us_max;
    if (stage == STAGE_HEADERS)
        return c->fresh ? c->deadline_us : clock_us() + o->header_us_max;
    if (stage == STAGE_BODY)
        return x->begun_us + o->body_us_max + x->body_bytes / BODY_BYTES_PER_SECOND * 1000000;
    return INT64_MAX;
}

void watch_stage(watch *w, watched *c, exchange *x, stage stage)
{
    pthread_mutex_lock(&w->lock);
    c->deadline_us = deadline_of(w, c, x, stage);
    c->fresh = c->fresh && x != NULL && stage == STAGE_HEADERS;
    c->exchange = x;
    c->stage = stage;
    pthread_mutex_unlock(&w->lock);
}

void watch_sleep(watch *w, exchange *x)
{
    pthread_mutex_lock(&w->lock);
    MHD_suspend_connection(x->connection);
    x->asleep = true;
    pthread_mutex_unlock(&w->lock);
}

bool watch_too_many(watch *w, const watched *c)
{
    const http_options *o = &w->server->options;
    int64_t same = 0;
    bool too_many;

    pthread_mutex_lock(&w->lock);
    for (const watched *other = w->first; other != NULL && !c->loopback; other = other->next)
        same += !other->lost && memcmp(other->address, c->address, sizeof c->address) == 0;
    too_many = w->count > o->connections_soft_max || same > o->connections_per_address_max;
    pthread_mutex_unlock(&w->lock);
    return too_many;
}

void watch_cancel_all(watch *w)
{
    pthread_mutex_lock(&w->lock);
    for (watched *c = w->first; c != NULL; c = c->next)
        if (c->exchange != NULL)
            c->exchange->request.cancel = 1;
    pthread_mutex_unlock(&w->lock);
}

int64_t watch_count(watch *w)
{
    int64_t count;

    pthread_mutex_lock(&w->lock);
    count = w->count;
    pthread_mutex_unlock(&w->lock);
    return count;
}
