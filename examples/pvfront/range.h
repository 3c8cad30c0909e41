/* SPDX-License-Identifier: MIT */
#ifndef RANGE_H
#define RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/*
 * The sectors that the command line names, checked against the device: into outcome.sector and outcome.count. Without
 * --count and --length it goes to the end of the device.
 */
bool range_resolve(struct session *session);

/* The first sector alone, checked, and whether a count was named; for whoever takes the count from elsewhere. */
bool range_start(struct session *session, uint64_t *count);

/* Sets the range and checks it. */
bool range_set(struct session *session, uint64_t sector, uint64_t count);

#endif
