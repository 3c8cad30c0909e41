/* SPDX-License-Identifier: MIT */
/* A machine with two guests, 1 and 2, for tests of the simulated hypervisor and xenstored. */
#ifndef PVFRONT_TESTS_SIM_WORLD_H
#define PVFRONT_TESTS_SIM_WORLD_H

#include "check.h"

#include <pvfront/host.h>
#include <pvfront/sim.h>
#include <pvfront/sim_backend.h>
#include <pvfront/sim_posix.h>

#include <stdbool.h>

#define WORLD_SECOND UINT64_C(1000000000)

struct guest {
	struct pvf_sim_domain *domain;
	const struct pvf_host_ops *ops;
	void *ctx;
};

struct world {
	bool stepped;
	struct pvf_sim *sim;
	struct guest zero, one, two;
};

/* For CMocka. The xenstore rings' indices start just below 2^32, so that they wrap. */
int world_threaded(void **state);
int world_stepped(void **state);
/* Fails when a domain that is still there holds anything. */
int world_teardown(void **state);

struct world *world_new(bool stepped, uint64_t seed);
void world_free(struct world *world);
struct guest world_guest(struct pvf_sim_domain *domain);
void world_nothing_held(struct pvf_sim_domain *domain);

/* A deadline that far away. */
uint64_t soon(const struct guest *guest, uint64_t nanoseconds);
/* Lets the others rest: stepped until nobody has anything to do, threaded for a moment. */
void world_rest(struct world *world);

/* Regions of PAGES pages; ports. */
#define PAGES 3u
void share(const struct guest *guest, struct pvf_region *region, uint32_t refs[PAGES], uint16_t domid, uint16_t flags);
int unshare(const struct guest *guest, struct pvf_region *region);
uint32_t alloc_port(const struct guest *guest, uint16_t domid, struct pvf_event *event);
void notify(const struct guest *guest, uint32_t port);
void close_port(const struct guest *guest, uint32_t port);

/* One store operation; text values. get: the value in static memory, NULL when its status (in *status) is no success. */
int put(const struct guest *guest, const char *path, const char *value);
const char *get(const struct guest *guest, const char *path, int *status);
int drop(const struct guest *guest, const char *path);
int list(const struct guest *guest, const char *path, char *names, uint32_t room, uint32_t *length);
int watch(const struct guest *guest, const char *path, struct pvf_event *event);
void unwatch(const struct guest *guest, const char *path, struct pvf_event *event);
/* Waits for the event to pass `sequence`; PVF_OK or PVF_TIMEOUT after a second. */
int await(const struct guest *guest, struct pvf_event *event, uint32_t sequence);

/* A test in both modes. */
#define BOTH(function, rows, sentence) \
	PVF_TEST_WITH(function, world_threaded, world_teardown, rows, "sim", sentence), \
		PVF_TEST_WITH(function, world_stepped, world_teardown, rows, "sim-stepped", sentence)
#define THREADED(function, rows, sentence) \
	PVF_TEST_WITH(function, world_threaded, world_teardown, rows, "sim", sentence)
#define STEPPED(function, rows, sentence) \
	PVF_TEST_WITH(function, world_stepped, world_teardown, rows, "sim-stepped", sentence)

#endif
