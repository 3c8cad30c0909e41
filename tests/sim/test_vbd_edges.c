/* SPDX-License-Identifier: MIT */
/* Edges of single requests: the end of the device, bounce pages that come back after errors, a disk that says read-only. */
#include "fixture.h"

#include <string.h>

#define PAGES 16u
#define MOST_PAGES 11u

/* Whole pages of the pool take another way through submit than everything else: the end of the device is checked there too. */
static void whole_pages_at_the_end(void **state)
{
	struct fx *fx = *state;
	struct pvf_seg buffer;
	uint64_t sectors;

	fx_start(fx, &(struct fx_options){.persistent = true});
	sectors = fx->bytes / 512u;
	buffer = fx_buffer(fx, PAGES * 4096u);
	for (uint32_t pages = 2; pages <= MOST_PAGES; pages++) {
		uint64_t last = sectors - pages * 8u, reads, writes;
		struct pvf_vbd_statistics before;

		buffer.length = pages * 4096u;
		memset(buffer.base, 0, buffer.length);
		assert_int_equal(fx_io(fx, PVF_VBD_READ, last, &buffer, 1), PVF_OK);
		assert_true(fx_is_pattern(buffer.base, last * 512u, buffer.length));
		assert_int_equal(fx_io(fx, PVF_VBD_WRITE, last, &buffer, 1), PVF_OK);
		reads = fx_counters(fx).reads;
		writes = fx_counters(fx).writes;
		before = fx_statistics(fx);
		for (uint32_t beyond = 1; beyond <= pages * 8u; beyond++) {
			assert_int_equal(fx_io(fx, PVF_VBD_READ, last + beyond, &buffer, 1), PVF_RANGE);
			assert_int_equal(fx_io(fx, PVF_VBD_WRITE, last + beyond, &buffer, 1), PVF_RANGE);
		}
		assert_int_equal(fx_io(fx, PVF_VBD_WRITE, UINT64_MAX, &buffer, 1), PVF_RANGE);
		assert_int_equal(fx_io(fx, PVF_VBD_WRITE, 0u - (uint64_t)pages * 8u, &buffer, 1), PVF_RANGE);
		assert_int_equal(pvf_vbd_in_flight(fx->queue), 0);
		(void)pvf_vbd_push(fx->queue);
		fx_rest(fx);
		assert_int_equal(fx_statistics(fx).requests, before.requests);
		assert_int_equal(fx_counters(fx).reads, reads);
		assert_int_equal(fx_counters(fx).writes, writes);
	}
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

/* A bounce page that an error kept would be missing in the end: there are just as many as one request takes. */
static void errors_give_bounce_pages_back(void **state)
{
	struct fx *fx = *state;
	struct fx_options options = {.persistent = true, .vbd = PVF_VBD_OPTIONS};
	static const uint32_t sizes[] = {512, 4096, MOST_PAGES * 4096u};
	uint8_t memory[MOST_PAGES * 4096u + 1u];

	options.vbd.bounce_pages = MOST_PAGES;
	fx_start(fx, &options);
	for (uint32_t i = 0; i < 3u * (MOST_PAGES + 1u); i++) {
		uint32_t size = sizes[i % 3u];

		assert_int_equal(pvf_sim_vbd_fault(fx->half, i & 1u ? "unsupported@1" : "error@1"), PVF_OK);
		memset(memory, 0x5c, sizeof(memory));
		if (i & 4u)
			assert_int_equal(fx_write(fx, 64, memory + 1, size), i & 1u ? PVF_UNSUPPORTED : PVF_IO);
		else
			assert_int_equal(fx_read(fx, 64, memory + 1, size), i & 1u ? PVF_UNSUPPORTED : PVF_IO);
	}
	assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
	assert_int_equal(fx_read(fx, 64, memory + 1, MOST_PAGES * 4096u), PVF_OK);
	assert_true(fx_is_pattern(memory + 1, 64 * 512, MOST_PAGES * 4096u));
	fx_end(fx);
}

/* Two keys say read-only; a backend may leave one of them out. */
static void read_only_by_info_alone(void **state)
{
	static const char *const keys[] = {"mode=", "info=4"};
	struct fx *fx = *state;
	struct pvf_vbd_info info;
	struct pvf_seg buffer;
	uint8_t memory[4096];

	fx_start(fx, &(struct fx_options){.keys = keys, .nr_keys = 2});
	assert_null(fx_backend_key(fx, "mode"));
	assert_int_equal(pvf_vbd_info(fx->vbd, &info), PVF_OK);
	assert_true(info.read_only);
	memset(memory, 0, sizeof(memory));
	assert_int_equal(fx_write(fx, 8, memory, sizeof(memory)), PVF_READ_ONLY);
	buffer = fx_buffer(fx, 4096);
	assert_int_equal(fx_io(fx, PVF_VBD_WRITE, 8, &buffer, 1), PVF_READ_ONLY);
	assert_int_equal(fx_counters(fx).writes, 0);
	assert_int_equal(fx_io(fx, PVF_VBD_READ, 8, &buffer, 1), PVF_OK);
	assert_true(fx_is_pattern(buffer.base, 8 * 512, 4096));
	pvf_vbd_release(fx->queue, &buffer);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(whole_pages_at_the_end, "V01",
		"whole pages that cross the end of the device are refused and not sent; up to the end they work"),
	FX_BOTH(errors_give_bounce_pages_back, "V10", "requests that end in errors give their bounce pages back"),
	FX_BOTH(read_only_by_info_alone, "V01", "a backend whose info alone says read-only gets no write"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
