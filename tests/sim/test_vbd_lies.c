/* SPDX-License-Identifier: MIT */
/*
 * A backend that lies at random, and lies at the worst moment. The random one is the test itself: the reference backend
 * swallows every request, and the test answers on the ring, mostly with truths, as a backend's domain may: it maps the ring
 * and writes whatever it likes. A run follows from its seed.
 *
 *   PVF_SEEDS       how many seeds
 *   PVF_FIRST_SEED  where they begin
 */
#include "fixture.h"

#include <pvfront/wire/ring.h>

#include <stdlib.h>
#include <string.h>

#define RING_START 0xfffffff0u
#define ENTRIES 32u
#define ENTRY_BYTES 112u
#define TURNS 400u
#define MOST_IOS (TURNS * 4u)
#define POOL_PAGES 32u
#define PLAIN_BYTES (1u << 18)

enum fate { NEVER, FLYING, ENDED };

struct liar {
	struct fx *fx;
	uint64_t seed;
	bool new_ring; /* since it last looked */
	uint32_t req_cons;
	uint64_t ids[ENTRIES]; /* requests it knows of and did not answer */
	uint8_t ops[ENTRIES];
	uint32_t nr_ids;
	struct pvf_seg pool, *segs; /* three for each I/O */
	uint8_t *plain;
	uint8_t fate[MOST_IOS];
	uint32_t submitted, flying;
};

static uint32_t below(struct liar *liar, uint32_t n)
{
	return fx_below(&liar->seed, n);
}

/* ---- the backend's side ---- */

static void sees_phase(void *ctx, const struct pvf_trace *trace)
{
	struct liar *liar = ctx;

	if (trace->kind == PVF_TRACE_PHASE && trace->phase == PVF_PHASE_LINKED)
		liar->new_ring = true;
}

static uint8_t *slot(void *page, uint32_t index)
{
	return (uint8_t *)page + PVF_WIRE_RING_HEADER + (index % ENTRIES) * ENTRY_BYTES;
}

static void learn(struct liar *liar, const uint8_t *entry)
{
	if (liar->nr_ids == ENTRIES)
		return;
	memcpy(&liar->ids[liar->nr_ids], entry + 8, 8);
	liar->ops[liar->nr_ids++] = entry[0];
}

static void take_requests(struct liar *liar, void *page, uint32_t req_prod)
{
	if (req_prod - liar->req_cons > ENTRIES)
		return; /* what it scribbled there itself */
	while (liar->req_cons != req_prod)
		learn(liar, slot(page, liar->req_cons++));
	/* Now and then it answers what nobody showed it. */
	if (below(liar, 60) == 0)
		learn(liar, slot(page, req_prod));
}

static void answer(struct liar *liar, void *page, uint32_t rsp_prod)
{
	uint32_t which = below(liar, liar->nr_ids);
	int16_t status = below(liar, 10) == 0 ? (int16_t)(-1 - (int)below(liar, 2)) : 0;
	uint64_t words[2];

	words[0] = liar->ids[which];
	words[1] = liar->ops[which] | (uint64_t)below(liar, 256) << 8 | (uint64_t)(uint16_t)status << 16 |
		   (uint64_t)below(liar, 1u << 30) << 32;
	if (below(liar, 150) == 0)
		words[0] ^= (uint64_t)1 << below(liar, 64);
	if (below(liar, 150) == 0)
		words[1] ^= (uint64_t)1 << below(liar, 32);
	memcpy(slot(page, rsp_prod), words, sizeof(words));
	liar->nr_ids--;
	liar->ids[which] = liar->ids[liar->nr_ids];
	liar->ops[which] = liar->ops[liar->nr_ids];
}

static void lie(struct liar *liar, void *page)
{
	struct pvf_wire_ring *ring = page;
	uint32_t rsp_prod = ring->rsp_prod, n;

	if (liar->new_ring) {
		liar->new_ring = false;
		liar->req_cons = RING_START;
		liar->nr_ids = 0;
	}
	take_requests(liar, page, ring->req_prod);
	n = liar->nr_ids ? below(liar, liar->nr_ids + 1u) : 0;
	while (n--)
		answer(liar, page, rsp_prod++);
	if (below(liar, 120) == 0)
		rsp_prod += below(liar, 3) ? 1u + below(liar, 40) : 0u - 1u - below(liar, 40);
	ring->rsp_prod = rsp_prod;
	if (below(liar, 50) == 0)
		ring->req_event = below(liar, 100000);
	if (below(liar, 200) == 0)
		ring->req_prod = below(liar, 1000000);
}

static void backend_turn(struct liar *liar)
{
	struct fx *fx = liar->fx;
	const char *ref = fx_frontend_key(fx, "ring-ref");
	uint32_t handle;
	void *page;

	if (pvf_vbd_phase(fx->vbd) != PVF_PHASE_CONNECTED || !ref)
		return;
	if (pvf_sim_map(fx->dom0, 1, (uint32_t)strtoul(ref, NULL, 10), false, &page, &handle) != PVF_OK)
		return;
	lie(liar, page);
	assert_int_equal(pvf_sim_unmap(fx->dom0, handle), PVF_OK);
	pvf_event(pvf_vbd_queue_event(fx->queue));
}

/* ---- the owner's side ---- */

static void make(struct liar *liar, struct pvf_vbd_io *io, uint32_t number)
{
	struct pvf_seg *segs = liar->segs + (size_t)number * 3u;

	*io = (struct pvf_vbd_io){.op = below(liar, 2), .sector = below(liar, 1000), .segs = segs, .nr_segs = 1};
	io->user = (void *)(uintptr_t)(number + 1u);
	segs[0] = liar->pool;
	switch (below(liar, 6)) {
	case 0:
	case 1:
	case 2: /* the fast path's */
		segs[0].offset = below(liar, 20) * 4096u;
		segs[0].length = (1u + below(liar, 11)) * 4096u;
		break;
	case 3:
		segs[0].offset = below(liar, POOL_PAGES) * 4096u + 512u * below(liar, 4);
		segs[0].length = 512u * (1u + below(liar, 4));
		break;
	case 4:
		io->op = PVF_VBD_FLUSH;
		io->nr_segs = 0;
		break;
	default:
		io->nr_segs = 3;
		segs[1] = segs[0];
		segs[0] = PVF_SEG_OF(liar->plain + 1, below(liar, 200) * 1024u + 512u * below(liar, 2));
		segs[1].offset = below(liar, 8) * 4096u;
		segs[1].length = below(liar, 8) * 4096u;
		segs[2] = PVF_SEG_OF(liar->plain + 250000, 512u * (1u + below(liar, 5)));
		break;
	}
}

static void submit(struct liar *liar)
{
	struct pvf_vbd_io ios[4];
	uint32_t n = 1 + below(liar, 4);
	int taken;

	for (uint32_t i = 0; i < n; i++)
		make(liar, &ios[i], liar->submitted + i);
	taken = pvf_vbd_submit(liar->fx->queue, ios, n);
	if (taken < 0) {
		assert_true(taken == PVF_AGAIN || taken == PVF_CLOSED || taken == PVF_BROKEN ||
			    taken == PVF_UNSUPPORTED);
		return;
	}
	memset(liar->fate + liar->submitted, FLYING, (size_t)taken);
	liar->submitted += (uint32_t)taken;
	liar->flying += (uint32_t)taken;
}

static uint32_t reap(struct liar *liar)
{
	struct pvf_vbd_done done[40];
	uint32_t max = 1 + below(liar, 33);
	int n = pvf_vbd_reap(liar->fx->queue, done, max);

	assert_in_range(n, 0, max);
	for (int i = 0; i < n; i++) {
		uintptr_t number = (uintptr_t)done[i].user - 1u;

		assert_in_range(number, 0, liar->submitted - 1u);
		assert_int_equal(liar->fate[number], FLYING);
		liar->fate[number] = ENDED;
		liar->flying--;
	}
	return (uint32_t)n;
}

static void control(struct liar *liar)
{
	struct fx *fx = liar->fx;

	switch (below(liar, 4)) {
	case 0:
		(void)pvf_vbd_disconnect(fx->vbd);
		break;
	case 1:
		pvf_vbd_want(fx->vbd, PVF_WANT_RECONNECT);
		for (uint32_t i = 0; i < 3; i++)
			(void)pvf_vbd_advance(fx->vbd);
		break;
	case 2:
		assert_int_equal(pvf_sim_vbd_restart_backend(fx->half), PVF_OK);
		(void)pvf_vbd_advance(fx->vbd);
		break;
	default:
		(void)pvf_vbd_advance(fx->vbd);
		break;
	}
	if (below(liar, 2)) {
		int status = pvf_vbd_connect(fx->vbd);
		enum pvf_phase phase = pvf_vbd_phase(fx->vbd);

		if (status != PVF_OK && phase != PVF_PHASE_CLOSED && phase != PVF_PHASE_BROKEN)
			print_error("connect: %s in %s: %s\n", pvf_status_name(status), pvf_phase_name(phase),
				    pvf_vbd_error(fx->vbd));
		assert_true(status == PVF_OK || phase == PVF_PHASE_CLOSED || phase == PVF_PHASE_BROKEN);
	}
}

static void turn(struct liar *liar)
{
	switch (below(liar, 9)) {
	case 0:
	case 1:
	case 2:
		submit(liar);
		break;
	case 3:
		(void)pvf_vbd_push(liar->fx->queue);
		break;
	case 4:
	case 5:
		(void)reap(liar);
		break;
	case 6:
	case 7:
		backend_turn(liar);
		break;
	default:
		if (below(liar, 6) == 0)
			control(liar);
		break;
	}
	assert_int_equal(pvf_vbd_in_flight(liar->fx->queue), liar->flying);
}

static void run(struct liar *liar)
{
	struct fx *fx = liar->fx;
	struct fx_options options = {
		.seed = liar->seed, .bytes = 1u << 20, .persistent = true, .fault = "stall", .vbd = PVF_VBD_OPTIONS};

	options.vbd.ring_start = RING_START;
	options.vbd.bounce_pages = below(liar, 2) ? 11u + below(liar, 30) : 0;
	options.vbd.flags = (below(liar, 2) ? PVF_VBD_TIMING : 0) | (below(liar, 3) ? 0 : PVF_VBD_POLL);
	options.vbd.trace = sees_phase;
	options.vbd.trace_ctx = liar;
	fx_start(fx, &options);
	liar->pool = fx_buffer(fx, POOL_PAGES * 4096u);
	for (uint32_t i = 0; i < TURNS; i++)
		turn(liar);
	(void)pvf_vbd_disconnect(fx->vbd);
	while (reap(liar))
		;
	assert_int_equal(liar->flying, 0);
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
	for (uint32_t i = 0; i < liar->submitted; i++)
		assert_int_equal(liar->fate[i], ENDED);
	pvf_vbd_release(fx->queue, &liar->pool);
	/* What it was not told, because a phase ended by its deadline, it hears when it ends. */
	(void)fx_close(fx);
	pvf_sim_vbd_kill_backend(fx->half);
	assert_int_equal(pvf_host_unpark(fx->host), 0);
	fx_end(fx);
}

static void random_lies(void **state)
{
	uint64_t first = fx_setting("PVF_FIRST_SEED", 1), seeds = fx_setting("PVF_SEEDS", 200);
	struct pvf_seg *segs = malloc(sizeof(*segs) * MOST_IOS * 3u);
	uint8_t *plain = calloc(1, PLAIN_BYTES);

	assert_non_null(segs);
	assert_non_null(plain);
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		struct liar liar = {.fx = *state, .seed = seed, .segs = segs, .plain = plain};

		/* A test that fails shows what it printed: the last seed is the one. */
		print_message("again with: PVF_FIRST_SEED=%llu PVF_SEEDS=1\n", (unsigned long long)seed);
		run(&liar);
	}
	free(segs);
	free(plain);
}

/* ---- at the worst moment ---- */

/* The answers come while disconnect waits for them, with a long I/O that waits for room behind. */
static void lie_while_draining(void **state)
{
	struct fx *fx = *state;
	uint8_t *memory = malloc(4u << 20);

	for (uint32_t at = 1; at <= 20; at++) {
		struct fx_tally tally = {0};
		struct pvf_seg buffer, seg = PVF_SEG_OF(memory, 4u << 20);
		struct pvf_vbd_io io = {.segs = &seg, .nr_segs = 1, .user = fx_user(20)};
		char fault[] = "bad-status@00";
		uint64_t begin;

		fault[11] = (char)('0' + at / 10u);
		fault[12] = (char)('0' + at % 10u);
		fx_start(fx, &(struct fx_options){.seed = at, .persistent = at & 1u, .fault = fault});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 20), 20);
		assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
		(void)pvf_vbd_push(fx->queue);
		begin = fx_now(fx);
		(void)pvf_vbd_disconnect(fx->vbd);
		assert_true(fx_now(fx) - begin < FX_PHASE_MS * FX_MS);
		fx_drain(fx, &tally, 1000);
		fx_each_once(&tally, 21);
		for (uint32_t i = 0; i < 21; i++)
			assert_int_equal(tally.status[i], i + 1u < at ? PVF_OK : PVF_BROKEN);
		assert_true(fx_is_pattern(buffer.base, 0, (at - 1u) * 4096u));
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
	free(memory);
}

/* ---- submitted, ended, then pushed ---- */

struct unpushed {
	const char *fault; /* what ends it */
	int status;
};

static void ends_unpushed(struct fx *fx, const struct unpushed *how)
{
	struct fx_tally tally = {0};
	struct pvf_seg buffer;
	struct pvf_vbd_io io = {.op = PVF_VBD_WRITE, .sector = 800, .nr_segs = 1, .user = fx_user(1)};
	struct pvf_vbd_done done[4];
	uint8_t disk[4096];
	uint64_t writes;

	fx_start(fx, &(struct fx_options){.persistent = true, .fault = how->fault});
	buffer = fx_buffer(fx, 4096);
	io.segs = &buffer;
	memset(buffer.base, 'A', 4096);
	writes = fx_counters(fx).writes;
	if (how->fault) {
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 1);
		for (uint32_t i = 0; i < 3; i++)
			fx_rest(fx);
	}
	assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
	if (how->status == PVF_CLOSED)
		assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	else if (how->status == PVF_RESET)
		for (uint32_t i = 0; i < 1000 && tally.count[1] == 0; i++) {
			(void)fx_reaches(fx, PVF_PHASE_RESTARTING, 1);
			fx_note(&tally, done, (uint32_t)pvf_vbd_reap(fx->queue, done, 4));
		}
	fx_note(&tally, done, (uint32_t)pvf_vbd_reap(fx->queue, done, 4));
	assert_int_equal(tally.count[1], 1);
	assert_int_equal(tally.status[1], how->status);
	memset(buffer.base, 'X', 4096); /* it is the caller's again */
	for (uint32_t again = 0; again < 2; again++) {
		assert_int_equal(pvf_vbd_push(fx->queue), 0);
		fx_rest(fx);
		(void)pvf_vbd_advance(fx->vbd);
		assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
		if (again == 0 && how->status != PVF_BROKEN)
			fx_connect(fx);
	}
	assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
	assert_int_equal(pvf_vbd_reap(fx->queue, done, 4), 0);
	fx_rest(fx);
	assert_int_equal(fx_counters(fx).writes, writes);
	assert_int_equal(fx->disk.read(fx->disk.ctx, 800 * 512, disk, sizeof(disk)), PVF_OK);
	assert_true(fx_is_pattern(disk, 800 * 512, sizeof(disk)));
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

static void ended_before_it_was_pushed(void **state)
{
	ends_unpushed(*state, &(struct unpushed){"bad-status@1", PVF_BROKEN});
	ends_unpushed(*state, &(struct unpushed){"restart@1", PVF_RESET});
	ends_unpushed(*state, &(struct unpushed){NULL, PVF_CLOSED});
}

/* ---- a backend as fast as it is fed ---- */

/* FIELD-BUGS 22: one reap must not go on for as long as a backend has answers. */
static void reap_is_bounded(void **state)
{
	const uint32_t size = 16u << 20;
	struct fx *fx = *state;
	struct fx_tally tally = {0};
	uint8_t *memory = malloc(size);
	struct pvf_seg seg = PVF_SEG_OF(memory, size);
	struct pvf_vbd_io io = {.segs = &seg, .nr_segs = 1, .user = fx_user(0)};
	struct pvf_event *event;
	uint32_t reaps = 0;

	fx_start(fx, &(struct fx_options){.bytes = size, .fault = "early"});
	event = pvf_vbd_queue_event(fx->queue);
	assert_int_equal(pvf_vbd_submit(fx->queue, &io, 1), 1);
	(void)pvf_vbd_push(fx->queue);
	/* The owner comes when its event fired, and only then. */
	for (uint32_t seen = pvf_event_sequence(event) - 1u; tally.total == 0; reaps++) {
		uint64_t before = fx_statistics(fx).responses;
		struct pvf_vbd_done done;

		if (pvf_event_sequence(event) == seen)
			fx_rest(fx);
		assert_int_not_equal(pvf_event_sequence(event), seen);
		seen = pvf_event_sequence(event);
		fx_note(&tally, &done, (uint32_t)pvf_vbd_reap(fx->queue, &done, 1));
		assert_in_range(fx_statistics(fx).responses - before, 0, 3u * ENTRIES);
	}
	assert_true(reaps >= size / (11u * 4096u) / (3u * ENTRIES));
	fx_each_once(&tally, 1);
	assert_int_equal(tally.status[0], PVF_OK);
	assert_true(fx_is_pattern(memory, 0, size));
	fx_end(fx);
	free(memory);
}

static const struct pvf_test tests[] = {
	FX_STEPPED(random_lies, "V32 V22",
		   "whatever a backend writes to the ring, each request completes once and nothing is left"),
	FX_BOTH(lie_while_draining, "V32 V22",
		"a lie that arrives while the device closes: what was answered before it counts, the rest is broken, each once"),
	FX_BOTH(ended_before_it_was_pushed, "V32 V22",
		"a request that ended before it was pushed is never sent, and the disk stays as it was"),
	FX_STEPPED(reap_is_bounded, "V06", "one reap takes a bounded number of answers and asks to be called again"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
