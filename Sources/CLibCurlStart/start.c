#include "CLibCurlStart.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

static const char *key_log;

// libcurl treats a variable that it cannot copy as one that is not set (lib/getenv.c).
static char *copy_without_key_log(const char *text) { return text == key_log ? NULL : strdup(text); }

/// Initialises the process-wide libcurl without the file that SSLKEYLOGFILE names.
///
/// libcurl opens that file when it is initialised (Curl_tls_keylog_open in lib/vtls/keylog.c) and at no other time, even if it will write
/// no key. If the file is a FIFO, libcurl waits for a reader, and no timeout ends the wait. This runs before main, because libcurl's first
/// user initialises it: Foundation's URLSession, for instance. The variable stays set for child processes and other libraries.
__attribute__((constructor)) static void start(void) {
    key_log = getenv("SSLKEYLOGFILE");
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc, copy_without_key_log, calloc);
    key_log = NULL;
}
