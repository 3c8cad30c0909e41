/* SPDX-License-Identifier: MIT */
/*
 * A vbd frontend written by hand, with nothing of the library's in it: it puts raw requests on a raw ring, legal or not,
 * and reads raw responses. It proves the simulated backend, so that the library's own tests have a peer to rely on.
 */
#ifndef PVFRONT_TESTS_SIM_BARE_H
#define PVFRONT_TESTS_SIM_BARE_H

#include <pvfront/host.h>
#include <pvfront/sim.h>
#include <pvfront/sim_posix.h>
#include <pvfront/wire/blkif.h>
#include <pvfront/wire/ring.h>
#include <pvfront/wire/xenbus.h>

#define BARE_PAGES 32u
#define BARE_SECTORS 4096u /* of the disk: 2 MiB */
#define BARE_MS UINT64_C(1000000)

struct bare {
	bool stepped;
	struct pvf_sim *sim;
	struct pvf_sim_domain *guest;
	struct pvf_sim_domain *dom0;
	const struct pvf_host *host;
	struct pvf_sim_disk disk;
	struct pvf_sim_vbd *vbd;
	uint32_t nodes_before;

	struct pvf_region ring_region, data_region;
	uint32_t ring_ref, data_refs[BARE_PAGES];
	struct pvf_event event;   /* the ring's */
	struct pvf_event watched; /* the backend's state */
	uint32_t port;
	struct pvf_wire_ring *ring;
	uint32_t req_prod, rsp_cons;
	uint64_t next_id;
	char state_path[128];
};

/* Fixtures for CMocka: a machine with a guest and a 2 MiB disk in memory, each sector filled with its number. */
int bare_threaded(void **state);
int bare_stepped(void **state);
/* Detaches what is attached and fails when anything was left behind in the guest, the backend's domain or the store. */
int bare_teardown(void **state);

/* `options` without domains, disk and size; fails the test unless it is attached. */
void bare_attach(struct bare *bare, struct pvf_sim_vbd_options options);

/* Waits up to `ms` for the backend's state key to be `state`; false when it was not. */
bool bare_backend_reaches(struct bare *bare, uint32_t state, uint32_t ms);
/* The backend's key as a string; NULL when it is absent. The memory is static. */
const char *bare_key(struct bare *bare, const char *name);
void bare_write(struct bare *bare, const char *name, const char *value);
void bare_remove(struct bare *bare, const char *name);
void bare_state(struct bare *bare, uint32_t state);

/* Shares the ring, whose indices start at `start`, and writes the keys; the state is not written. */
void bare_publish(struct bare *bare, bool persistent, uint32_t start);
/* All of the handshake, up to both sides Connected. */
void bare_connect(struct bare *bare, bool persistent, uint32_t start);
/* Closing, Closed, as a polite frontend does it, and the pages back. */
void bare_close(struct bare *bare);
/* Takes the pages back; returns the worst answer of unshare. */
int bare_release(struct bare *bare);

/* A request over `pages` whole pages, from data page `page` on; returned for the test to spoil. */
struct pvf_wire_blkif_request bare_request(struct bare *bare, uint32_t op, uint64_t sector, uint32_t page,
					   uint32_t pages);
void bare_put(struct bare *bare, const struct pvf_wire_blkif_request *request);
/* Publishes; returns whether the backend had asked to be notified, and was. */
bool bare_push(struct bare *bare);
/* The next response within `ms`; false when none came. Armed first, as a correct frontend does. */
bool bare_take(struct bare *bare, struct pvf_wire_blkif_response *response, uint32_t ms);
/* put, push, take: the response's status. */
int bare_do(struct bare *bare, const struct pvf_wire_blkif_request *request);

uint8_t *bare_page(struct bare *bare, uint32_t page);
struct pvf_sim_vbd_counters bare_counters(struct bare *bare);
/* Lets the others run until they rest (stepped), or for a few milliseconds (threaded). */
void bare_rest(struct bare *bare);
/* Lets the others run for a moment of the machine's time. */
void bare_moment(struct bare *bare);
uint64_t bare_now(const struct bare *bare);

/* Lets the others run until the condition holds; a test that waits so is as quick on a loaded machine as it can be. */
#define bare_await(bare, condition) \
	do { \
		const uint64_t give_up = bare_now(bare) + 20000 * BARE_MS; \
\
		while (!(condition)) { \
			assert_true(bare_now(bare) < give_up); \
			bare_moment(bare); \
		} \
	} while (0)
/* The backend has answered all that was asked, has sent its event, and asked for the next. */
#define bare_await_idle(bare) bare_await(bare, pvf_load32_acquire(&(bare)->ring->req_event) == (bare)->req_prod + 1)

#endif
