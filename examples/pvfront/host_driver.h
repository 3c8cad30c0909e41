/* SPDX-License-Identifier: MIT */
/* A host: a way to reach a vbd. The table in host_table.c has those built into this pvfront. */
#ifndef HOST_DRIVER_H
#define HOST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#include <pvfront/host.h>

#include "failure.h"

struct options;
struct host_driver;

struct named_number {
	const char *name;
	uint64_t value;
};

#define MAX_NUMBERS 24u

struct attachment {
	const struct host_driver *driver;
	const struct pvf_host *host;
	const char *path;        /* the frontend's, as "device/vbd/51712" */
	uint64_t expected_bytes; /* size the device should have; 0: not known */
	void *state;             /* the driver's */
};

struct host_driver {
	const char *name;
	bool (*attach)(const struct options *options, struct attachment *attachment, struct failure *failure);
	void (*detach)(struct attachment *attachment);
	/* What the backend counted and what the frontend's domain holds; each returns how many. Optional. */
	uint32_t (*counters)(const struct attachment *attachment, struct named_number numbers[MAX_NUMBERS]);
	uint32_t (*held)(const struct attachment *attachment, struct named_number numbers[MAX_NUMBERS]);
	/* More for --help; optional. */
	void (*help)(void);
};

extern const struct host_driver *const host_drivers[];
extern const uint32_t nr_host_drivers;

/* The driver of that name; fails with a sentence that lists those there are. */
const struct host_driver *host_driver_find(const char *name, struct failure *failure);
void host_drivers_help(void);

/* The number of that name, 0 when it is not there. */
uint64_t named_number(const struct named_number *numbers, uint32_t n, const char *name);

extern const struct host_driver host_sim;

#endif
