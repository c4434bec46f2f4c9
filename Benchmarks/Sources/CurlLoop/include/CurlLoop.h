#ifndef CURL_LOOP_H
#define CURL_LOOP_H

/// One thread driving curl_multi over HTTP/2 with TLS, the bound for any client built on libcurl.
typedef struct CurlLoop CurlLoop;

/// A loop that keeps `atOnce` GET requests of `url` in flight, with header fields ("Name: value"), trusting the roots in `caFile`. NULL when
/// out of memory.
CurlLoop *_Nullable curl_loop_create(const char *_Nonnull url, const char *_Nonnull caFile, int atOnce,
                                     const char *_Nonnull const *_Nullable fields, int fieldCount);

/// Runs until `seconds` have passed and every request has ended. Returns how many were answered 200, or -1 when one was not.
long curl_loop_run(CurlLoop *_Nonnull loop, double seconds);

/// Submits a request from any thread; at most `atOnce` may be under way. `curl_loop_serve` gives `request` to its `done`.
void curl_loop_submit(CurlLoop *_Nonnull loop, void *_Nonnull request);

/// Performs what is submitted, on the calling thread, until `curl_loop_stop`. Calls `done` with the status of each request, -1 without one.
void curl_loop_serve(CurlLoop *_Nonnull loop, void (*_Nonnull done)(void *_Nullable request, long status));

/// Ends `curl_loop_serve` from any thread, after the requests that are under way.
void curl_loop_stop(CurlLoop *_Nonnull loop);

/// Frees what `curl_loop_create` made.
void curl_loop_destroy(CurlLoop *_Nonnull loop);

/// Posts the first `bytes` bytes of `file` with curl_easy_perform and libcurl's defaults. Returns the status, or -1 without an answer.
long curl_upload(const char *_Nonnull url, const char *_Nonnull caFile, const char *_Nonnull file, long bytes);

#endif
