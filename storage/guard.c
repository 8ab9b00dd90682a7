/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANGES_MAX = 60000 }; /* a process has 65,530 mappings in all */

/* The handler reads while others write: a range counts once its start is set. */
typedef struct range {
    _Atomic uintptr_t start; /* 0: free */
    _Atomic uintptr_t end;
    _Atomic bool *_Atomic lost;
} range;

static range ranges[RANGES_MAX];
static _Atomic int used; /* all ranges from here on are free */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t installed = PTHREAD_ONCE_INIT;
static uintptr_t page;

static range *range_of(uintptr_t address)
{
    for (int i = 0; i < used; i++)
        if (ranges[i].start != 0 && address >= ranges[i].start && address < ranges[i].end)
            return &ranges[i];
    return NULL;
}

/* Only calls that are one system call each, or none. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    range *r = range_of(address);

    (void)context;
    if (r != NULL && mmap((void *)(address / page * page), page, PROT_READ,
                          MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
        *r->lost = true;
        return;
    }
    signal(number, SIG_DFL); /* the instruction is tried again, and ends the process */
}

static void install(void)
{
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

    page = (uintptr_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

/* A free range; the lock is held. */
static range *free_range(void)
{
    for (int i = 0; i < used; i++)
        if (ranges[i].start == 0)
            return &ranges[i];
    return used == RANGES_MAX ? NULL : &ranges[used++];
}

bool guard_add(void *bytes, size_t size, _Atomic bool *lost)
{
    range *r;

    pthread_once(&installed, install);
    pthread_mutex_lock(&lock);
    r = free_range();
    if (r != NULL) {
        r->lost = lost;
        r->end = (uintptr_t)bytes + size;
        r->start = (uintptr_t)bytes;
    }
    pthread_mutex_unlock(&lock);
    return r != NULL;
}

void guard_remove(void *bytes)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < used; i++)
        if (ranges[i].start == (uintptr_t)bytes)
            ranges[i].start = 0;
    while (used > 0 && ranges[used - 1].start == 0)
        used--;
    pthread_mutex_unlock(&lock);
}
