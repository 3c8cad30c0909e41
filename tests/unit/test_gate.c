/* SPDX-License-Identifier: MIT */
/* The gate between a queue's owner and control. */
#include <string.h>

#include <gate.h>

#include "check.h"

static uint32_t fences;

static void fence(void *ctx)
{
	(void)ctx;
	fences++;
}

static const struct pvf_host_ops fencing = {.size = sizeof(fencing), .fence = fence};
static const struct pvf_host_ops fenceless = {.size = sizeof(fenceless)};

static void control_waits_for_an_owner_inside(void **state)
{
	const struct pvf_host hosts[] = {{.ops = &fencing}, {.ops = &fenceless}};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct pvf_gate gate = {.mode = PVF_GATE_OPEN, .owner_fences = hosts[i].ops->fence == NULL};

		assert_int_equal(pvf_gate_enter(&gate), PVF_GATE_OPEN);
		assert_false(pvf_gate_set(&gate, PVF_GATE_SHUT, &hosts[i]));
		assert_false(pvf_gate_set(&gate, PVF_GATE_SHUT, &hosts[i]));
		pvf_gate_leave(&gate);
		assert_true(pvf_gate_set(&gate, PVF_GATE_SHUT, &hosts[i]));
		assert_int_equal(pvf_gate_enter(&gate), PVF_GATE_SHUT);
		pvf_gate_leave(&gate);
		assert_true(pvf_gate_set(&gate, PVF_GATE_ENDED, &hosts[i]));
	}
	assert_int_equal(fences, 4);
}

/* The mode stands although control was told to ask again: the owner's next call must find it. */
static void the_mode_is_set_also_while_an_owner_is_inside(void **state)
{
	const struct pvf_host host = {.ops = &fencing};
	struct pvf_gate gate = {.mode = PVF_GATE_OPEN};

	(void)state;
	assert_int_equal(pvf_gate_enter(&gate), PVF_GATE_OPEN);
	assert_false(pvf_gate_set(&gate, PVF_GATE_DRAIN, &host));
	pvf_gate_leave(&gate);
	assert_int_equal(pvf_gate_enter(&gate), PVF_GATE_DRAIN);
	pvf_gate_leave(&gate);
}

static const struct pvf_test tests[] = {
	PVF_TEST(control_waits_for_an_owner_inside, "V22", "unit",
		 "control does not have the queue while an owner is inside"),
	PVF_TEST(the_mode_is_set_also_while_an_owner_is_inside, "V22", "unit",
		 "an owner that was inside when the gate shut finds it shut on its next call"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
