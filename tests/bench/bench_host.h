/* SPDX-License-Identifier: MIT */
/* A host of one thread for the library: a store that answers by itself, pages with invented references, counted calls. */
#ifndef PVFRONT_BENCH_HOST_H
#define PVFRONT_BENCH_HOST_H

#include <pvfront/host.h>
#include <pvfront/status.h>
#include <pvfront/wire/xenbus.h>

#include "bench.h"

#define BENCH_VBD_PATH "device/vbd/51712"

struct bench_host_calls {
	uint64_t grants; /* share, unshare, forget, grant_frame, revoke_frame */
	uint64_t other;  /* alloc, free, evtchn_alloc, evtchn_close, store, watch, unwatch, wait */
};

struct bench_host;

struct bench_host *bench_host_create(void);
void bench_host_destroy(struct bench_host *host);
const struct pvf_host *bench_host_table(struct bench_host *host);
/* What the frontend notifies. */
struct bench_channel *bench_host_channel(struct bench_host *host);
/* The ring that the frontend published; NULL when it has not. */
struct bench_ring *bench_host_ring(struct bench_host *host);
void bench_host_calls(const struct bench_host *host, struct bench_host_calls *calls);

#endif
