/* SPDX-License-Identifier: MIT */
/*
 * A vbd backend of the tests' own, written against <pvfront/sim_backend.h> alone: it keeps every request as it lay on the
 * ring, byte for byte, and a test says how it behaves. One page of ring, read and write by copy, persistent never.
 */
#ifndef PVFRONT_TESTS_SIM_SPY_H
#define PVFRONT_TESTS_SIM_SPY_H

#include <pvfront/sim_backend.h>
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/ring.h>

#define SPY_ENTRY 112u
#define SPY_LOG 4096u

struct spy;

struct spy_config {
	const struct pvf_sim_disk *disk;
	/* Called for each request before it is served; false: it is not answered. May be NULL. */
	bool (*request)(struct spy *spy, const uint8_t entry[SPY_ENTRY], void *arg);
	/* Called once when the ring is mapped. May be NULL. */
	void (*mapped)(struct spy *spy, const uint8_t page[4096], void *arg);
	/* Called on each step while connected, whether there is a request or not; true: call again. May be NULL. */
	bool (*idle)(struct spy *spy, void *arg);
	void *arg;
	bool asks_never; /* never asks to be notified of requests: it polls */
	bool never_notifies;
	/* Out: what it saw. */
	struct spy *spy;
	uint32_t requests;
	uint32_t events; /* of the ring's channel, the one of binding not counted */
	uint8_t log[SPY_LOG][SPY_ENTRY];
};

struct spy {
	struct pvf_sim_backend *backend;
	struct spy_config *config;
	struct pvf_event event; /* the ring's */
	uint32_t state;
	uint32_t seen;
	bool watching, looked;
	char watched[256]; /* the wire client keeps the pointer while the watch stands */
	struct pvf_wire_ring *ring;
	uint32_t handle, port;
	uint32_t req_cons, rsp_prod;
};

extern const struct pvf_sim_backend_ops spy_ops; /* its config is a struct spy_config */

/* The shared slot of an index. */
uint8_t *spy_slot(const struct spy *spy, uint32_t index);
/* Copies between memory and a granted page. */
int spy_copy(struct spy *spy, uint32_t ref, uint32_t offset, void *data, uint32_t bytes, bool to_page);

#endif
