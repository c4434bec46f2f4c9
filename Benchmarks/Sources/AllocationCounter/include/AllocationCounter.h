#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

/// Starts counting the allocations of every thread, from zero. Costs one predicted branch an allocation while it is off.
void allocation_counter_start(void);

/// How many allocations there were since the start of the count, which goes on when it is on.
long allocation_counter_value(void);

/// Stops counting and returns how many allocations there were.
long allocation_counter_stop(void);

/// From now on glibc keeps memory that is freed, however large, instead of giving it back to the system.
void allocation_keep_memory(void);

/// What a clock shows, in seconds; not a number when there is no such clock.
double clock_seconds(int clock);

/// What the clock of a process's processor time shows, in seconds; not a number when the process has ended.
double process_clock_seconds(int process);

#endif
