#include "CLibCurlStart.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

static const char *key_log;

// libcurl takes a variable that it cannot copy for one that is not set (lib/getenv.c).
static char *copy_without_key_log(const char *text) { return text == key_log ? NULL : strdup(text); }

/// Sets the process-wide libcurl up without the file that SSLKEYLOGFILE names.
///
/// libcurl opens that file when it is set up (Curl_tls_keylog_open in lib/vtls/keylog.c) and at no other time: even where no key will be
/// written, and where it is a FIFO, libcurl waits for a reader, which no timeout ends. Before main, because the first to use libcurl sets
/// it up: Foundation's URLSession would, for instance. The variable stays as it is, for child processes and other libraries.
__attribute__((constructor)) static void start(void) {
    key_log = getenv("SSLKEYLOGFILE");
    curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, free, realloc, copy_without_key_log, calloc);
    key_log = NULL;
}
