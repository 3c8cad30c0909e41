/* SPDX-License-Identifier: MIT */
/* The frontend's half of a ring, at every place its free-running indices can stand. */
#include <stdlib.h>
#include <string.h>

#include <pvfront/ring.h>

#include "check.h"

#define STRIDE 112u

static _Alignas(4096) uint8_t page[4096];

static struct pvf_ring fresh(uint32_t start)
{
	struct pvf_ring ring;

	memset(page, 0, sizeof(page));
	pvf_ring_init(&ring, page, pvf_ring_entries(sizeof(page), STRIDE), start);
	return ring;
}

/* PROTOCOL, "ABI sizes": ring entries for order 0 to 5, blkif, vif tx and rx, control ring. */
static void entries_are_the_power_of_two_that_fits(void **state)
{
	(void)state;
	for (uint32_t order = 0; order <= 5; order++)
		assert_int_equal(pvf_ring_entries(4096u << order, 112), 32u << order);
	assert_int_equal(pvf_ring_entries(4096, 108), 32);
	assert_int_equal(pvf_ring_entries(4096, 12), 256);
	assert_int_equal(pvf_ring_entries(4096, 8), 256);
	assert_int_equal(pvf_ring_entries(4096, 16), 128);
}

/* FIELD-BUGS 11. */
static void a_new_ring_asks_for_the_first_event(void **state)
{
	static const uint32_t golden[4] = {0, 1, 0, 1};
	struct pvf_ring ring = fresh(0);

	(void)state;
	assert_memory_equal(page, golden, sizeof(golden));
	for (uint32_t i = sizeof(golden); i < sizeof(page); i++)
		assert_int_equal(page[i], 0);
	assert_int_equal(ring.mask, 31);
}

/* "Somewhere in (old, new]" by counting, for every distance, around the wrap. */
static void the_peer_is_notified_exactly_when_it_asked_for_one_of_these(void **state)
{
	static const uint32_t starts[] = {0, 5, 0x7ffffff0u, 0xfffffff0u};

	(void)state;
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++)
		for (uint32_t pushed = 1; pushed <= 32; pushed++)
			for (uint32_t event = 0; event <= 70; event++) {
				struct pvf_ring ring = fresh(starts[s]);
				bool asked = false;

				ring.shared->req_event = starts[s] + event - 35u;
				for (uint32_t i = 1; i <= pushed; i++)
					asked = asked || ring.shared->req_event == starts[s] + i;
				ring.req_prod += pushed;
				assert_int_equal(pvf_ring_push(&ring), asked);
				assert_int_equal(ring.shared->req_prod, starts[s] + pushed);
			}
}

static void more_responses_than_requests_are_noticed(void **state)
{
	static const uint32_t starts[] = {0, 0xfffffff0u};

	(void)state;
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		struct pvf_ring ring = fresh(starts[s]);

		ring.req_prod += 20;
		pvf_ring_push(&ring);
		for (uint32_t n = 0; n <= 20; n++)
			assert_false(pvf_ring_overrun(&ring, starts[s] + n));
		assert_true(pvf_ring_overrun(&ring, starts[s] + 21));
		assert_true(pvf_ring_overrun(&ring, starts[s] - 1));
		assert_true(pvf_ring_overrun(&ring, starts[s] + 0x80000000u));
	}
}

static void the_final_check_arms_one_past_what_was_taken_and_looks_again(void **state)
{
	struct pvf_ring ring = fresh(0xfffffffeu);

	(void)state;
	ring.req_prod += 3;
	pvf_ring_push(&ring);
	assert_false(pvf_ring_final_check(&ring));
	assert_int_equal(ring.shared->rsp_event, 0xffffffffu);
	ring.shared->rsp_prod += 2;
	assert_true(pvf_ring_final_check(&ring));
	ring.rsp_cons += 2;
	assert_false(pvf_ring_final_check(&ring));
	assert_int_equal(ring.shared->rsp_event, 1);
}

static void entries_lie_after_the_header_and_wrap(void **state)
{
	struct pvf_ring ring = fresh(0);

	(void)state;
	assert_ptr_equal(pvf_ring_entry(&ring, 0, STRIDE), page + 64);
	assert_ptr_equal(pvf_ring_entry(&ring, 31, STRIDE), page + 64 + 31 * 112);
	assert_ptr_equal(pvf_ring_entry(&ring, 32, STRIDE), page + 64);
	assert_ptr_equal(pvf_ring_entry(&ring, 0xffffffffu, STRIDE), page + 64 + 31 * 112);
}

static const struct pvf_test tests[] = {
	PVF_TEST(entries_are_the_power_of_two_that_fits, "", "unit", "a ring has as many entries as the protocol says"),
	PVF_TEST(a_new_ring_asks_for_the_first_event, "", "unit", "a new ring is zero but for its event indices"),
	PVF_TEST(the_peer_is_notified_exactly_when_it_asked_for_one_of_these, "V31", "unit",
		 "the peer is notified exactly when it asked to be"),
	PVF_TEST(more_responses_than_requests_are_noticed, "V32", "unit",
		 "more responses than requests are noticed, also around the wrap"),
	PVF_TEST(the_final_check_arms_one_past_what_was_taken_and_looks_again, "V31", "unit",
		 "the final check arms one past what was taken and looks again"),
	PVF_TEST(entries_lie_after_the_header_and_wrap, "", "unit", "entries lie after the header and wrap"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
