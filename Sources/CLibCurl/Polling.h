#pragma once

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// epoll and eventfd, which Swift's Glibc module leaves out. struct epoll_event is packed, so Swift reads it through these functions.

enum {
    clibcurl_epoll_in = EPOLLIN,
    clibcurl_epoll_out = EPOLLOUT,
    clibcurl_epoll_error = EPOLLERR,
    clibcurl_epoll_hang_up = EPOLLHUP,
    clibcurl_epoll_add = EPOLL_CTL_ADD,
    clibcurl_epoll_modify = EPOLL_CTL_MOD,
    clibcurl_epoll_delete = EPOLL_CTL_DEL,
    // POLLRDHUP has the same value, but needs _GNU_SOURCE.
    clibcurl_poll_peer_ended = EPOLLRDHUP,
};

static inline int clibcurl_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int clibcurl_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t tag) {
    struct epoll_event event;
    event.events = events;
    event.data.u64 = tag;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

static inline uint32_t clibcurl_epoll_event_mask(const struct epoll_event *events, int index) { return events[index].events; }

static inline uint64_t clibcurl_epoll_event_tag(const struct epoll_event *events, int index) { return events[index].data.u64; }

static inline int clibcurl_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Names the calling thread, with up to 15 characters.
static inline void clibcurl_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// The number of processors on which the calling thread may run; 1 when the system does not say.
static inline int clibcurl_processors(void) {
    unsigned long mask[128] = {0};
    // The C library's functions for sets of processors need _GNU_SOURCE.
    long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    int count = 0;
    for (long index = 0; index < bytes / (long)sizeof mask[0]; index++) count += __builtin_popcountl(mask[index]);
    return count > 0 ? count : 1;
}
