#include "AllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

// The executable's own malloc comes before glibc's for every library in the process; glibc keeps its own under these names,
// and its free takes what they return.
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool counting;
static atomic_long allocations;

static void count(void) {
    if (__builtin_expect(atomic_load_explicit(&counting, memory_order_relaxed), 0)) {
        atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed);
    }
}

void *malloc(size_t size) {
    count();
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count();
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count();
    return __libc_realloc(memory, size);
}

int posix_memalign(void **result, size_t alignment, size_t size) {
    count();
    void *memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *result = memory;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size) {
    count();
    return __libc_memalign(alignment, size);
}

void allocation_counter_start(void) {
    atomic_store(&allocations, 0);
    atomic_store(&counting, 1);
}

long allocation_counter_value(void) {
    return atomic_load(&allocations);
}

long allocation_counter_stop(void) {
    atomic_store(&counting, 0);
    return atomic_load(&allocations);
}

void allocation_keep_memory(void) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

double clock_seconds(int clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return NAN;
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

double process_clock_seconds(int process) {
    clockid_t clock;
    return clock_getcpuclockid(process, &clock) == 0 ? clock_seconds(clock) : NAN;
}
