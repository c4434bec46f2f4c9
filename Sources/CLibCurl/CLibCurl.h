#pragma once

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdint.h>

// Swift cannot call C's variadic functions, so each kind of argument has one typed function.

static inline CURLcode clibcurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_large(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode clibcurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

typedef size_t (*clibcurl_data_function)(char *data, size_t size, size_t count, void *context);
typedef int (*clibcurl_debug_function)(CURL *easy, curl_infotype kind, char *text, size_t count, void *context);
typedef int (*clibcurl_seek_function)(void *context, curl_off_t offset, int origin);
typedef CURLcode (*clibcurl_ssl_ctx_function)(CURL *easy, void *ssl_ctx, void *context);
typedef int (*clibcurl_prereq_function)(void *context, char *primary_ip, char *local_ip, int primary_port, int local_port);
typedef curl_socket_t (*clibcurl_opensocket_function)(void *context, curlsocktype purpose, struct curl_sockaddr *address);

static inline CURLcode clibcurl_set_opensocket_function(CURL *easy, clibcurl_opensocket_function function) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline CURLcode clibcurl_set_data_function(CURL *easy, CURLoption option, clibcurl_data_function function) {
    return curl_easy_setopt(easy, option, function);
}

static inline CURLcode clibcurl_set_debug_function(CURL *easy, clibcurl_debug_function function) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
}

static inline CURLcode clibcurl_set_seek_function(CURL *easy, clibcurl_seek_function function) {
    return curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
}

static inline CURLcode clibcurl_set_ssl_ctx_function(CURL *easy, clibcurl_ssl_ctx_function function) {
    return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline CURLcode clibcurl_set_prereq_function(CURL *easy, clibcurl_prereq_function function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode clibcurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode clibcurl_get_large(CURL *easy, CURLINFO info, int64_t *value) {
    curl_off_t large = 0;
    CURLcode code = curl_easy_getinfo(easy, info, &large);
    *value = large;
    return code;
}

static inline CURLcode clibcurl_get_pointer(CURL *easy, CURLINFO info, void **value) {
    return curl_easy_getinfo(easy, info, value);
}

// Returns the SSL* of the connection that carries the transfer, or NULL.
static inline void *clibcurl_get_ssl(CURL *easy) {
    struct curl_tlssessioninfo *session = NULL;
    if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) { return NULL; }
    return session->internals;
}

static inline CURLMcode clibcurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode clibcurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) {
    return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode clibcurl_multi_set_socket_function(CURLM *multi, curl_socket_callback function) {
    return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
}

static inline CURLMcode clibcurl_multi_set_timer_function(CURLM *multi, curl_multi_timer_callback function) {
    return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
}

// Returns 1 with the easy handle and result of a finished transfer, or 0 if there is none. Swift cannot read the message's union itself.
static inline int clibcurl_multi_next_done(CURLM *multi, CURL **easy, CURLcode *result) {
    int left = 0;
    CURLMsg *message;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *easy = message->easy_handle;
            *result = message->data.result;
            return 1;
        }
    }
    return 0;
}

static inline curl_version_info_data *clibcurl_version_info(void) { return curl_version_info(CURLVERSION_NOW); }
