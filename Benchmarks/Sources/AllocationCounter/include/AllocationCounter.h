#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

/// Starts counting the allocations of every thread, from zero. Costs one predicted branch an allocation while it is off.
void allocation_counter_start(void);

/// Stops counting and returns how many allocations there were.
long allocation_counter_stop(void);

#endif
