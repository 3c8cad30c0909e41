/* SPDX-License-Identifier: MIT */
/* A backend that lies, and what of the guest's memory any backend gets to see. */
#include "fixture.h"
#include "spy.h"

#include <pvfront/compiler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- V32: each check, by a planted bad response ---- */

struct lie {
	const char *fault;
	const char *clauses[3]; /* the error names one of them */
};

/* As many rounds of reads as it takes; `tally` is of the last. Returns how many the last round had. */
static uint32_t read_until_broken(struct fx *fx, struct pvf_seg *buffer, struct fx_tally *tally)
{
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t taken;

		memset(tally, 0, sizeof(*tally));
		taken = fx_submit_reads(fx, buffer, 0, 12 + round % 3u);
		fx_drain(fx, tally, 20000);
		fx_each_once(tally, taken);
		for (uint32_t i = 0; i < taken; i++)
			if (tally->status[i] != PVF_OK)
				return taken;
	}
	return 0;
}

static void broken_and_back(struct fx *fx, const struct lie *lie, const char *fault)
{
	struct fx_tally tally;
	struct pvf_seg buffer = fx_buffer(fx, 32u * 4096u);
	uint32_t taken = read_until_broken(fx, &buffer, &tally), broken = 0;
	uint8_t memory[5120];
	bool named = false;

	assert_true(taken > 0);
	for (uint32_t i = 0; i < taken; i++) {
		broken += tally.status[i] == PVF_BROKEN;
		/* A response before the bad one counts; nothing else is made up. */
		assert_true(tally.status[i] == PVF_BROKEN || tally.status[i] == PVF_OK);
	}
	assert_true(broken > 0);
	assert_int_equal(fx_submit_reads(fx, &buffer, 0, 1), 0);
	assert_true(fx_reaches(fx, PVF_PHASE_BROKEN, 1000));
	assert_int_equal(pvf_vbd_submit(fx->queue, &(struct pvf_vbd_io){.op = PVF_VBD_FLUSH}, 1), PVF_BROKEN);
	assert_int_equal(fx_statistics(fx).bad_responses, 1);
	for (uint32_t i = 0; i < 3 && lie->clauses[i]; i++)
		named = named || strstr(pvf_vbd_error(fx->vbd), lie->clauses[i]);
	if (!named)
		print_error("%s: the error is \"%s\"\n", fault, pvf_vbd_error(fx->vbd));
	assert_true(named);
	/* It can be connected again, with the buffer of before. */
	assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
	fx_connect(fx);
	memset(buffer.base, 0, 4096);
	buffer.length = 4096;
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 8, &buffer, 1), PVF_OK);
	assert_true(fx_is_pattern(buffer.base, 4096, 4096));
	assert_int_equal(fx_read(fx, 1, memory, 5120), PVF_OK);
	assert_true(fx_is_pattern(memory, 512, 5120));
	pvf_vbd_release(fx->queue, &buffer);
}

static void each_lie(struct fx *fx, const struct lie *lie)
{
	static const char *const nth[] = {"@1", "@2", "@7", "@12", "@40"};

	for (uint32_t i = 0; i < sizeof(nth) / sizeof(nth[0]); i++) {
		struct fx_options options = {.persistent = i & 1u, .seed = i, .vbd = PVF_VBD_OPTIONS};
		char fault[32];
		uint64_t begin;

		snprintf(fault, sizeof(fault), "%s%s", lie->fault, nth[i]);
		options.fault = fault;
		options.vbd.ring_start = i == 2 ? 0xfffffff8u : 0;
		options.vbd.flags = i == 3 ? PVF_VBD_TIMING : 0;
		fx_start(fx, &options);
		broken_and_back(fx, lie, fault);
		fx_end(fx);
		/* And closed while it is broken. */
		fx_start(fx, &options);
		{
			struct fx_tally tally;
			struct pvf_seg buffer = fx_buffer(fx, 32u * 4096u);

			assert_true(read_until_broken(fx, &buffer, &tally) > 0);
			begin = fx_now(fx);
			assert_int_equal(fx_close(fx), PVF_OK);
			assert_true(fx_now(fx) - begin < 2000 * FX_MS);
		}
		fx_end(fx);
	}
}

static const char *const too_many = "answered more requests than it was sent";
static const char *const not_in_flight = "answered a request that was not in flight";
static const char *const earlier = "with the id of an earlier request";

static void id_never_given(void **state)
{
	each_lie(*state, &(const struct lie){"bad-id", {"with an id that was never used"}});
}

static void id_of_a_free_slot(void **state)
{
	each_lie(*state, &(const struct lie){"free-id", {not_in_flight, earlier}});
}

static void id_of_an_earlier_request(void **state)
{
	each_lie(*state, &(const struct lie){"stale-id", {earlier}});
}

static void answered_twice(void **state)
{
	each_lie(*state, &(const struct lie){"repeat", {too_many, not_in_flight, earlier}});
}

static void another_operation(void **state)
{
	each_lie(*state, &(const struct lie){"bad-op", {"with another operation than was asked"}});
}

static void status_that_is_none(void **state)
{
	each_lie(*state, &(const struct lie){"bad-status", {"with a status that does not exist, 0x0011"}});
}

static void index_far_ahead(void **state)
{
	each_lie(*state, &(const struct lie){"overrun", {too_many}});
}

static void index_that_goes_back(void **state)
{
	each_lie(*state, &(const struct lie){"backwards", {too_many}});
}

/* A bad response to a part of a long I/O, with others in flight: all of it ends once. */
static void lie_about_a_long_request(void **state)
{
	static const char *const lies[] = {"bad-id@9", "bad-op@9",  "bad-status@2",
					   "repeat@5", "overrun@1", "stale-id@33"};
	struct fx *fx = *state;
	uint8_t *memory = calloc(1, 3u << 20);
	struct pvf_seg seg = PVF_SEG_OF(memory, 3u << 20);

	for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct fx_tally tally = {0};
		struct pvf_vbd_io ios[3] = {
			{.op = PVF_VBD_FLUSH, .user = fx_user(0)},
			{.op = PVF_VBD_READ, .segs = &seg, .nr_segs = 1, .user = fx_user(1)},
			{.op = PVF_VBD_FLUSH, .user = fx_user(2)},
		};

		fx_start(fx, &(struct fx_options){.fault = lies[i], .seed = i});
		assert_int_equal(pvf_vbd_submit(fx->queue, ios, 3), 2); /* the long one waits for room */
		(void)pvf_vbd_push(fx->queue);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 2);
		assert_int_equal(tally.status[1], PVF_BROKEN);
		fx_end(fx);
	}
	free(memory);
}

/* The owner does not reap; it is control that finds the bad response, when it closes. What was good before it is not lost. */
static void lie_found_while_closing(void **state)
{
	static const char *const lies[] = {"bad-id@9", "bad-op@9", "bad-status@4", "repeat@5", "bad-id@1", "bad-op@20"};
	struct fx *fx = *state;

	for (uint32_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct fx_tally tally = {0};
		struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
		struct pvf_seg buffer;

		vbd.phase_ms = 300;
		fx_start(fx, &(struct fx_options){.fault = lies[i], .seed = i, .vbd = vbd});
		buffer = fx_buffer(fx, 32u * 4096u);
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 20), 20);
		for (uint32_t rests = 0; rests < 10; rests++)
			fx_rest(fx);
		(void)pvf_vbd_disconnect(fx->vbd);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 20);
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
}

/* ---- the spy sees what any backend sees ---- */

static struct spy_config *spy_on(struct fx *fx)
{
	struct spy_config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	config->disk = &fx->disk;
	return config;
}

static void start_with_spy(struct fx *fx, struct spy_config *config, struct pvf_sim_limits limits)
{
	fx_start(fx, &(struct fx_options){.backend = &spy_ops, .backend_config = config, .limits = limits});
}

static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* XSA-216: an entry holds the request and nothing else, whatever was in its place before. */
static void xsa216_entries_hold_nothing_else(void **state)
{
	struct fx *fx = *state;
	struct spy_config *config = spy_on(fx);
	uint8_t *memory = malloc(400000);
	struct pvf_seg pool;
	uint64_t seed = 216;

	start_with_spy(fx, config, (struct pvf_sim_limits){0});
	pool = fx_buffer(fx, 65536);
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t sectors = 1 + fx_below(&seed, i % 16u == 0 ? 700 : 88);

		pool.offset = fx_below(&seed, 64) * 512u;
		pool.length = sectors * 512u;
		if (fx_below(&seed, 8) == 0)
			assert_int_equal(fx_flush(fx), PVF_OK);
		else if (pool.offset + pool.length <= 65536 && fx_below(&seed, 2))
			assert_int_equal(fx_io(fx, fx_below(&seed, 2), i, &pool, 1), PVF_OK);
		else
			assert_int_equal(fx_read(fx, i, memory + i % 7u, sectors * 512u), PVF_OK);
	}
	assert_in_range(config->requests, 400, SPY_LOG);
	for (uint32_t i = 0; i < config->requests; i++) {
		struct pvf_wire_blkif_request request;

		memcpy(&request, config->log[i], sizeof(request));
		assert_int_equal(request.pad, 0);
		assert_int_equal(request.handle, 51712u & 0xffffu);
		assert_in_range(request.nr_segments, 0, 11);
		if (request.operation == PVF_WIRE_BLKIF_OP_FLUSH) {
			assert_int_equal(request.nr_segments, 0);
			assert_int_equal(request.sector_number, 0);
		} else {
			assert_in_range(request.nr_segments, 1, 11);
		}
		for (uint32_t k = 0; k < request.nr_segments; k++)
			assert_int_equal(request.seg[k].pad, 0);
		assert_true(all_zero(config->log[i] + 24u + request.nr_segments * 8u, 88u - request.nr_segments * 8u));
	}
	pool.offset = 0;
	pool.length = 65536;
	pvf_vbd_release(fx->queue, &pool);
	free(memory);
	fx_end(fx);
	free(config);
}

struct zero_check {
	uint32_t pages;
	bool ring_dirty, page_dirty;
};

static void look_at_ring(struct spy *spy, const uint8_t page[4096], void *arg)
{
	struct zero_check *check = arg;

	(void)spy;
	/* Behind the four indices: padding and entries. */
	check->ring_dirty = check->ring_dirty || !all_zero(page + 16, 4096 - 16);
}

/* What lies around the payload in the pages that came with the request. */
static bool look_at_pages(struct spy *spy, const uint8_t entry[SPY_ENTRY], void *arg)
{
	struct zero_check *check = arg;
	struct pvf_wire_blkif_request request;
	uint8_t page[4096];

	memcpy(&request, entry, sizeof(request));
	for (uint32_t i = 0; i < request.nr_segments; i++) {
		uint32_t begin = request.seg[i].first_sect * 512u, end = (request.seg[i].last_sect + 1u) * 512u;

		if (spy_copy(spy, request.seg[i].gref, 0, page, sizeof(page), false) != PVF_OK)
			check->page_dirty = true;
		if (request.operation == PVF_WIRE_BLKIF_OP_WRITE)
			memset(page + begin, 0, end - begin);
		check->page_dirty = check->page_dirty || !all_zero(page, sizeof(page));
		check->pages++;
	}
	return true;
}

/* Fills every free page of the domain with what must not get out. */
static void dirty_memory(struct fx *fx, uint32_t domain_pages)
{
	uint32_t *refs = calloc(domain_pages, sizeof(*refs));
	struct pvf_region region = {.refs = refs, .pages = domain_pages - 8u, .domid = 0};

	assert_int_equal(fx->host->ops->share(fx->host->ctx, &region), PVF_OK);
	memset(region.base, 0x5e, (size_t)region.pages * 4096u);
	assert_int_equal(fx->host->ops->unshare(fx->host->ctx, &region), PVF_UNSHARE_RELEASED);
	free(refs);
}

/* XSA-403: pages are zeroed before the peer may see them; a page shared for a part of it shows that part only. */
static void xsa403_shared_pages_are_zeroed(void **state)
{
	struct fx *fx = *state;
	struct spy_config *config = spy_on(fx);
	struct zero_check check = {0};
	uint8_t memory[60000];
	struct pvf_seg pool;

	config->mapped = look_at_ring;
	config->request = look_at_pages;
	config->arg = &check;
	fx_machine(fx, &(struct fx_options){
			       .backend = &spy_ops, .backend_config = config, .limits = {.domain_pages = 1024}});
	dirty_memory(fx, 1024);
	fx_open(fx);
	fx_connect(fx);
	memset(memory, 0xd1, sizeof(memory));
	pool = fx_buffer(fx, 4096);
	assert_true(all_zero(pool.base, 4096));
	/* Each of these uses pages that no request has used before: the read first, its pages come back zeroed or not. */
	assert_int_equal(fx_write(fx, 0, memory + 3, 512), PVF_OK);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 64, &pool, 1), PVF_OK);
	assert_true(check.pages >= 2);
	assert_false(check.ring_dirty);
	assert_false(check.page_dirty);
	pvf_vbd_release(fx->queue, &pool);
	fx_end(fx);
	free(config);
}

/* ---- XSA-155: what lies in shared memory may change at any time ---- */

struct restless {
	uint32_t left;
};

/* Writes over the answers on the ring, again and again, as fast as it is let. */
static bool scribble(struct spy *spy, void *arg)
{
	struct restless *restless = arg;

	if (!restless->left || spy->rsp_prod == spy->req_cons - 32u)
		return false;
	restless->left--;
	for (uint32_t i = 0; i < 32; i++) {
		volatile uint64_t *slot = (volatile uint64_t *)(void *)spy_slot(spy, spy->rsp_prod - 1u - i);
		uint64_t word = pvf_load64(&slot[1]);

		/* From a good status to nonsense and back. */
		pvf_store64(&slot[1], word ^ (uint64_t)0x1234 << 16);
		pvf_store64(&slot[1], word);
	}
	return true;
}

static void xsa155_answers_that_change_are_read_once(void **state)
{
	struct fx *fx = *state;
	struct spy_config *config = spy_on(fx);
	uint32_t ends = 0;

	for (uint32_t round = 0; round < 20; round++) {
		struct restless restless = {2000};
		struct pvf_seg buffer;

		memset(config, 0, sizeof(*config));
		config->disk = &fx->disk;
		config->idle = scribble;
		config->arg = &restless;
		start_with_spy(fx, config, (struct pvf_sim_limits){0});
		buffer = fx_buffer(fx, 32u * 4096u);
		for (uint32_t i = 0; i < 20; i++) {
			struct fx_tally tally = {0};
			uint32_t n = fx_submit_reads(fx, &buffer, 0, 20);

			if (n == 0)
				break;
			fx_drain(fx, &tally, 20000);
			fx_each_once(&tally, n);
			for (uint32_t k = 0; k < n; k++)
				assert_true(tally.status[k] == PVF_OK || tally.status[k] == PVF_BROKEN);
			ends += n;
		}
		restless.left = 0;
		pvf_vbd_release(fx->queue, &buffer);
		fx_end(fx);
	}
	assert_true(ends >= 20);
	free(config);
}

/* Remembers where the data of the last request lay, and writes there once more when the test says so. */
struct late_writer {
	uint32_t ref;
	volatile uint32_t armed, wrote; /* the test's thread and the backend's */
};

static bool remember(struct spy *spy, const uint8_t entry[SPY_ENTRY], void *arg)
{
	struct late_writer *writer = arg;

	(void)spy;
	memcpy(&writer->ref, entry + 24, 4);
	return true;
}

static bool write_late(struct spy *spy, void *arg)
{
	struct late_writer *writer = arg;
	uint8_t page[4096];

	if (!pvf_load32_acquire(&writer->armed) || pvf_load32_acquire(&writer->wrote))
		return false;
	memset(page, 0x99, sizeof(page));
	pvf_store32_release(&writer->wrote, spy_copy(spy, writer->ref, 0, page, sizeof(page), true) == PVF_OK);
	return true;
}

/* PLAIN memory is the caller's own after completion; a POOL page stays the peer's to write to, and says so. */
static void xsa155_plain_memory_is_out_of_reach(void **state)
{
	struct fx *fx = *state;
	struct spy_config *config = spy_on(fx);
	struct late_writer writer = {0};
	uint8_t memory[4096];

	config->request = remember;
	config->idle = write_late;
	config->arg = &writer;
	start_with_spy(fx, config, (struct pvf_sim_limits){0});
	assert_int_equal(fx_read(fx, 8, memory, 4096), PVF_OK);
	assert_true(fx_is_pattern(memory, 4096, 4096));
	pvf_store32_release(&writer.armed, 1);
	/* Something happens, so that the spy has its turn; a flush has no page for it to write to. */
	for (uint32_t turn = 0; turn < 10000 && !pvf_load32_acquire(&writer.wrote); turn++)
		assert_int_equal(fx_flush(fx), PVF_OK);
	assert_true(pvf_load32_acquire(&writer.wrote));
	assert_true(fx_is_pattern(memory, 4096, 4096));
	assert_int_equal(fx_read(fx, 8, memory, 4096), PVF_OK);
	assert_true(fx_is_pattern(memory, 4096, 4096));
	fx_end(fx);
	free(config);
}

/* XSA-331, XSA-332: a guest that notifies without being asked is punished by delays; it never does. */
static void xsa332_notifies_only_when_asked(void **state)
{
	struct fx *fx = *state;
	struct spy_config *config = spy_on(fx);
	struct pvf_seg buffer;
	struct fx_tally tally;

	config->asks_never = true;
	start_with_spy(fx, config, (struct pvf_sim_limits){0});
	buffer = fx_buffer(fx, 32u * 4096u);
	for (uint32_t i = 0; i < 20; i++) {
		memset(&tally, 0, sizeof(tally));
		assert_int_equal(fx_submit_reads(fx, &buffer, 0, 16), 16);
		fx_drain(fx, &tally, 20000);
		fx_each_once(&tally, 16);
	}
	/* Only the very first request, for which a new ring always asks. */
	assert_in_range(fx_statistics(fx).notifications, 0, 1);
	assert_int_equal(config->events, fx_statistics(fx).notifications);
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
	free(config);
}

static const struct pvf_test tests[] = {
	FX_BOTH(id_never_given, "V32",
		"an answer under an id never given breaks the device; each request ends once; it comes back"),
	FX_BOTH(id_of_a_free_slot, "V32", "an answer to a request that is not in flight breaks the device"),
	FX_BOTH(id_of_an_earlier_request, "V32", "an answer under the id of an earlier request breaks the device"),
	FX_BOTH(answered_twice, "V32", "a request answered twice breaks the device"),
	FX_BOTH(another_operation, "V32", "an answer as another operation breaks the device"),
	FX_BOTH(status_that_is_none, "V32", "a status that does not exist breaks the device"),
	FX_BOTH(index_far_ahead, "V32", "a response index far ahead breaks the device"),
	FX_BOTH(index_that_goes_back, "V32", "a response index that goes back breaks the device"),
	FX_BOTH(lie_about_a_long_request, "V32 V06", "a lie about a part of a long request ends the whole of it once"),
	FX_BOTH(lie_found_while_closing, "V32 V22",
		"a lie found while closing loses no request that was answered before it"),
	FX_BOTH(xsa216_entries_hold_nothing_else, "V32",
		"XSA-216: ring entries hold the request and zeroes, whatever was there before"),
	FX_BOTH(xsa403_shared_pages_are_zeroed, "V32",
		"XSA-403: ring and pool pages are zeroed before the backend sees them"),
	FX_STEPPED(xsa155_answers_that_change_are_read_once, "V32",
		   "XSA-155: answers that change while they are read end each request once"),
#if !defined(PVF_COMPILER_TSAN) /* the race is the backend's, and the point of the test */
	FX_THREADED(xsa155_answers_that_change_are_read_once, "V32",
		    "XSA-155: answers that change while they are read end each request once"),
#endif
	FX_BOTH(xsa155_plain_memory_is_out_of_reach, "V32 V10",
		"XSA-155: after completion the backend cannot change the caller's memory"),
	FX_BOTH(xsa332_notifies_only_when_asked, "V31 V32",
		"XSA-332: the backend is notified only when it asked for it"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
