#include "CurlLoop.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct CurlLoop {
    CURLM *multi;
    CURL **handles;
    struct curl_slist *fields;
    int atOnce;
    // What other threads have submitted, at most `atOnce`, and whether they want no more.
    pthread_mutex_t lock;
    void **submitted;
    int submittedCount;
    int isStopping;
};

static size_t discard(char *data, size_t size, size_t count, void *context) {
    (void)data;
    (void)context;
    return size * count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Sets the options that a GET and an upload have in common.
static void set_up(CURL *easy, const char *url, const char *caFile) {
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CAINFO, caFile);
    curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
}

CurlLoop *curl_loop_create(const char *url, const char *caFile, int atOnce, const char *const *fields, int fieldCount) {
    CurlLoop *loop = calloc(1, sizeof *loop);
    if (!loop) return NULL;
    loop->atOnce = atOnce;
    pthread_mutex_init(&loop->lock, NULL);
    for (int index = 0; index < fieldCount; index++) {
        struct curl_slist *longer = curl_slist_append(loop->fields, fields[index]);
        if (!longer) {
            curl_loop_destroy(loop);
            return NULL;
        }
        loop->fields = longer;
    }
    loop->multi = curl_multi_init();
    loop->handles = calloc((size_t)atOnce, sizeof *loop->handles);
    loop->submitted = calloc((size_t)atOnce, sizeof *loop->submitted);
    if (!loop->multi || !loop->handles || !loop->submitted) {
        curl_loop_destroy(loop);
        return NULL;
    }
    for (int index = 0; index < atOnce; index++) {
        CURL *easy = loop->handles[index] = curl_easy_init();
        if (!easy) {
            curl_loop_destroy(loop);
            return NULL;
        }
        set_up(easy, url, caFile);
        curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, loop->fields);
    }
    return loop;
}

long curl_loop_run(CurlLoop *loop, double seconds) {
    long answered = 0;
    int failed = 0;
    int inFlight = loop->atOnce;
    double end = now() + seconds;
    for (int index = 0; index < loop->atOnce; index++) curl_multi_add_handle(loop->multi, loop->handles[index]);
    while (inFlight > 0) {
        int running, left;
        curl_multi_perform(loop->multi, &running);
        int again = now() < end && !failed;
        int added = 0;
        for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            long status = 0;
            curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            if (message->data.result == CURLE_OK && status == 200) answered++;
            else failed = 1;
            curl_multi_remove_handle(loop->multi, easy);
            if (again) {
                curl_multi_add_handle(loop->multi, easy);
                added = 1;
            } else {
                inFlight--;
            }
        }
        if (inFlight > 0 && !added) curl_multi_poll(loop->multi, NULL, 0, 1000, NULL);
    }
    return failed ? -1 : answered;
}

void curl_loop_submit(CurlLoop *loop, void *request) {
    pthread_mutex_lock(&loop->lock);
    int wasEmpty = loop->submittedCount == 0;
    loop->submitted[loop->submittedCount++] = request;
    pthread_mutex_unlock(&loop->lock);
    if (wasEmpty) curl_multi_wakeup(loop->multi);
}

void curl_loop_stop(CurlLoop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->isStopping = 1;
    pthread_mutex_unlock(&loop->lock);
    curl_multi_wakeup(loop->multi);
}

// Starts what was submitted, each request on a handle that is free. Returns whether there was any.
static int start_submitted(CurlLoop *loop, int *freeCount, int *isStopping) {
    pthread_mutex_lock(&loop->lock);
    int count = loop->submittedCount;
    for (int index = 0; index < count; index++) {
        CURL *easy = loop->handles[--*freeCount];
        curl_easy_setopt(easy, CURLOPT_PRIVATE, loop->submitted[index]);
        curl_multi_add_handle(loop->multi, easy);
    }
    loop->submittedCount = 0;
    *isStopping = loop->isStopping;
    pthread_mutex_unlock(&loop->lock);
    return count > 0;
}

void curl_loop_serve(CurlLoop *loop, void (*done)(void *request, long status)) {
    int isStopping = 0;
    int freeCount = loop->atOnce;
    // The first `freeCount` handles are free.
    while (!isStopping || freeCount < loop->atOnce) {
        int running, left;
        int added = start_submitted(loop, &freeCount, &isStopping);
        curl_multi_perform(loop->multi, &running);
        for (CURLMsg *message; (message = curl_multi_info_read(loop->multi, &left));) {
            if (message->msg != CURLMSG_DONE) continue;
            CURL *easy = message->easy_handle;
            long status = -1;
            char *request = NULL;
            if (message->data.result == CURLE_OK) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &request);
            curl_multi_remove_handle(loop->multi, easy);
            loop->handles[freeCount++] = easy;
            done(request, status);
        }
        if (!added) curl_multi_poll(loop->multi, NULL, 0, 1000, NULL);
    }
}

void curl_loop_destroy(CurlLoop *loop) {
    if (loop->handles) {
        for (int index = 0; index < loop->atOnce; index++) {
            if (!loop->handles[index]) continue;
            curl_multi_remove_handle(loop->multi, loop->handles[index]);
            curl_easy_cleanup(loop->handles[index]);
        }
    }
    if (loop->multi) curl_multi_cleanup(loop->multi);
    curl_slist_free_all(loop->fields);
    pthread_mutex_destroy(&loop->lock);
    free(loop->submitted);
    free(loop->handles);
    free(loop);
}

long curl_upload(const char *url, const char *caFile, const char *file, long bytes) {
    long status = -1;
    CURL *easy = curl_easy_init();
    FILE *content = fopen(file, "rb");
    if (easy && content) {
        setvbuf(content, NULL, _IONBF, 0);
        set_up(easy, url, caFile);
        curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "POST");
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes);
        curl_easy_setopt(easy, CURLOPT_READDATA, content);
        if (curl_easy_perform(easy) == CURLE_OK) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    }
    if (content) fclose(content);
    if (easy) curl_easy_cleanup(easy);
    return status;
}
