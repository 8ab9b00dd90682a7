/* private -- what the files of auth share. */
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include "engine/base/secret.h"
#include "server/auth/auth.h"
#include "server/auth/sessions.h"
#include "server/auth/throttle.h"
#include "server/auth/tokens.h"

struct auth {
    bool token, tls, any_host;
    int port;
    int64_t session_us;
    char *allow_hosts, *allow_origins, *data, *tokens_path;
    char curl_path[256]; /* shown in the 401: curl -K this */
    throttle *failures;  /* of addresses */
    throttle *requests;  /* of tokens */

    pthread_mutex_t lock;         /* over all below */
    uint8_t digest[SHA256_BYTES]; /* of the local token */
    token_list tokens;
    struct timespec seen; /* when their file was changed */
    ino_t seen_inode;
    sessions sessions;
};

/* What stands behind scheme (in any case) in text; NULL if it does not begin so. */
const char *behind_scheme(const char *text, const char *scheme);

/* Whether a list, with commas between, has origins alone. ERR_VALUE, naming the one that is none.
 */
bool check_origins(const char *list, error *err);
