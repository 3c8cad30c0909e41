/* SPDX-License-Identifier: MIT */
/*
 * A machine with one vbd, and the library's frontend on it. A test is a few lines:
 *
 *	struct fx *fx = *state;
 *
 *	fx_start(fx, &(struct fx_options){.persistent = true});
 *	assert_int_equal(fx_write(fx, 8, data, sizeof(data)), PVF_OK);
 *	fx_end(fx);
 *
 * and is registered in both modes by FX_BOTH(function, "V01", "a sentence"). fx_end closes the device and fails the test
 * when anything at all is left: grants, mappings, ports, watches, transactions, pages, memory, or nodes of the store.
 */
#ifndef PVFRONT_TESTS_SIM_FIXTURE_H
#define PVFRONT_TESTS_SIM_FIXTURE_H

#include "check.h"

#include <pvfront/pvfront.h>
#include <pvfront/sim.h>
#include <pvfront/sim_backend.h>
#include <pvfront/sim_posix.h>
#include <pvfront/wire/blkif.h>

#define FX_MS UINT64_C(1000000)
#define FX_PHASE_MS 3000u
#define FX_USERS 512u

struct fx_options {
	uint64_t seed;        /* stepped: the schedule */
	uint32_t bytes;       /* of the disk; 0: 4 MiB */
	uint32_t sector_size; /* 0: 512 */
	bool persistent;      /* the backend offers feature-persistent */
	bool read_only;
	const char *fault;
	const char *const *keys; /* "KEY=VALUE", "KEY=": see pvf_sim_vbd_options */
	uint32_t nr_keys;
	const struct pvf_sim_backend_ops *backend; /* NULL: the reference backend */
	void *backend_config;
	struct pvf_sim_limits limits;
	struct pvf_vbd_options vbd; /* all zero: PVF_VBD_OPTIONS with a phase of FX_PHASE_MS */
};

struct fx {
	bool stepped;
	struct pvf_sim *sim;
	struct pvf_sim_domain *guest, *dom0;
	const struct pvf_host *host; /* the guest's */
	struct pvf_sim_disk disk;
	uint32_t bytes;
	struct pvf_sim_vbd *half; /* the toolstack's */
	uint32_t nodes;           /* of the store before it was attached */
	struct pvf_vbd_options options;
	struct pvf_vbd *vbd;
	struct pvf_vbd_queue *queue;
};

/* Setup and teardown for CMocka: they only choose the mode. */
int fx_threaded(void **state);
int fx_stepped(void **state);
int fx_teardown(void **state);

#define FX_STEPPED(function, rows, sentence) \
	PVF_TEST_WITH(function, fx_stepped, fx_teardown, rows, "sim-stepped", sentence " (stepped)")
#define FX_THREADED(function, rows, sentence) \
	PVF_TEST_WITH(function, fx_threaded, fx_teardown, rows, "sim", sentence " (threaded)")
#define FX_BOTH(function, rows, sentence) FX_STEPPED(function, rows, sentence), FX_THREADED(function, rows, sentence)

/* The machine, the disk (filled by fx_pattern) and the attached vbd; nothing of the frontend. */
void fx_machine(struct fx *fx, const struct fx_options *options);
/* pvf_vbd_open; fails the test when it cannot. */
void fx_open(struct fx *fx);
/* All of it, up to Connected. */
void fx_start(struct fx *fx, const struct fx_options *options);
/* pvf_vbd_connect, PVF_OK asserted with the device's own words. */
void fx_connect(struct fx *fx);
/* Closes whatever is open and fails the test when anything is left. */
void fx_end(struct fx *fx);
/* As fx_end without the checks: for a test that looks at what is left itself. */
void fx_destroy(struct fx *fx);
/* Closes the frontend: the status of pvf_vbd_close. */
int fx_close(struct fx *fx);
/* Fails when the domain holds anything. */
void fx_nothing_held(struct fx *fx, struct pvf_sim_domain *domain);
/* The same as a question, and without the counts of pages and grants that the pool holds. */
struct pvf_sim_held fx_held(struct pvf_sim_domain *domain);

/* Byte `at` of the disk as it was at the start. */
uint8_t fx_pattern(uint64_t at);
/* True when the memory is what the disk held at `offset` at the start. */
bool fx_is_pattern(const void *memory, uint64_t offset, uint32_t bytes);

/* One I/O from submit to completion: its status, or what submit refused it with. Memory is PLAIN. */
int fx_read(struct fx *fx, uint64_t sector, void *memory, uint32_t bytes);
int fx_write(struct fx *fx, uint64_t sector, const void *memory, uint32_t bytes);
int fx_flush(struct fx *fx);
/* The same over a segment of any kind. */
int fx_io(struct fx *fx, uint32_t op, uint64_t sector, struct pvf_seg *segs, uint32_t nr_segs);

/* A POOL buffer; fails the test when there is none. */
struct pvf_seg fx_buffer(struct fx *fx, uint32_t bytes);

/* Completions by user number: how often each came, and its last status. */
struct fx_tally {
	uint32_t count[FX_USERS];
	int32_t status[FX_USERS];
	uint32_t total;
};
void *fx_user(uint32_t number); /* below FX_USERS */
void fx_note(struct fx_tally *tally, const struct pvf_vbd_done *done, uint32_t n);
/* Waits until nothing is in flight, noting what completes. Fails the test after `ms`. */
void fx_drain(struct fx *fx, struct fx_tally *tally, uint32_t ms);
/* Each of 0 … n-1 completed exactly once, nothing else did. */
void fx_each_once(const struct fx_tally *tally, uint32_t n);
/* Submits `n` one-page reads of POOL memory (users 0 … n-1) and pushes; returns how many were taken. */
uint32_t fx_submit_reads(struct fx *fx, const struct pvf_seg *buffer, uint32_t first, uint32_t n);

/* Advances the device until its phase is `phase`, up to `ms`; false when it was not. */
bool fx_reaches(struct fx *fx, enum pvf_phase phase, uint32_t ms);
/* Lets the others work: until they rest (stepped), or a few milliseconds (threaded). */
void fx_rest(struct fx *fx);

uint64_t fx_now(struct fx *fx);
struct pvf_sim_vbd_counters fx_counters(struct fx *fx);
struct pvf_vbd_statistics fx_statistics(struct fx *fx);
void fx_faults(struct fx *fx, struct pvf_sim_faults faults);

/* The store with the toolstack's rights; `name` below the backend's or the frontend's directory. NULL: not there. */
const char *fx_backend_key(struct fx *fx, const char *name);
const char *fx_frontend_key(struct fx *fx, const char *name);
void fx_set_backend_key(struct fx *fx, const char *name, const char *value);
void fx_set_frontend_key(struct fx *fx, const char *name, const char *value);
/* Waits until the backend's state key is the digit, up to five seconds; fails the test when it is not. */
void fx_await_backend(struct fx *fx, char state);
void fx_remove_backend(struct fx *fx, const char *name); /* "": all of the directory */

/* Random numbers of a seed (splitmix64). */
uint64_t fx_random(uint64_t *seed);
uint32_t fx_below(uint64_t *seed, uint32_t n);
/* An environment variable's number, or `otherwise`. */
uint64_t fx_setting(const char *name, uint64_t otherwise);

#endif
