/* SPDX-License-Identifier: MIT */
/* The phase table walked as a graph (FEATURES X03): nodes are (phase, intent), edges what the actions can lead to. */
#include <string.h>

#include "check.h"
#include "device.h"

#define NODES (PVF_PHASES * PVF_WANTS)

static uint32_t node(uint32_t phase, uint32_t want)
{
	return phase * PVF_WANTS + want;
}

/* Starting turns "reconnect" into "up", and so does giving up; other steps keep the intent. */
static uint32_t want_after(const struct pvf_action *action, uint32_t phase, uint32_t want)
{
	if (action->run == pvf_step_start)
		return PVF_WANT_UP;
	return phase == PVF_PHASE_BROKEN && want == PVF_WANT_RECONNECT ? PVF_WANT_UP : want;
}

static const struct pvf_action *action_at(uint32_t phase, uint32_t want, uint32_t column)
{
	return &pvf_actions[pvf_table_action((enum pvf_phase)phase, (enum pvf_want)want, column)];
}

static const struct pvf_action *deadline_at(uint32_t phase)
{
	return &pvf_actions[pvf_table_deadline_action((enum pvf_phase)phase)];
}

static void add_edges(bool edges[NODES][NODES], uint32_t phase, uint32_t want, const struct pvf_action *action)
{
	for (uint32_t i = 0; action->next[i] != PVF_PHASES; i++)
		edges[node(phase, want)][node(action->next[i], want_after(action, action->next[i], want))] = true;
}

static void close_over(bool reach[NODES][NODES])
{
	for (uint32_t k = 0; k < NODES; k++)
		for (uint32_t i = 0; i < NODES; i++)
			for (uint32_t j = 0; j < NODES; j++)
				reach[i][j] = reach[i][j] || (reach[i][k] && reach[k][j]);
}

static void every_cell_names_an_action_with_an_end(void **state)
{
	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
		for (uint32_t want = 0; want < PVF_WANTS; want++)
			for (uint32_t column = 0; column < PVF_COLUMNS; column++) {
				const struct pvf_action *action = action_at(phase, want, column);
				uint32_t n = 0;

				assert_non_null(action->name);
				while (n < 4 && action->next[n] < PVF_PHASES)
					n++;
				assert_true(n < 4);
				/* What runs leads somewhere; what does not run stays. */
				assert_int_equal(action->run != NULL, n > 0);
			}
}

static void every_phase_can_reach_closed_or_broken(void **state)
{
	static bool reach[NODES][NODES];

	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
		for (uint32_t want = 0; want < PVF_WANTS; want++) {
			for (uint32_t column = 0; column < PVF_COLUMNS; column++)
				add_edges(reach, phase, want, action_at(phase, want, column));
			add_edges(reach, phase, want, deadline_at(phase));
		}
	close_over(reach);
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++) {
		bool ends = phase == PVF_PHASE_CLOSED || phase == PVF_PHASE_BROKEN;

		for (uint32_t want = 0; want < PVF_WANTS; want++)
			ends = ends || reach[node(phase, PVF_WANT_UP)][node(PVF_PHASE_CLOSED, want)] ||
			       reach[node(phase, PVF_WANT_UP)][node(PVF_PHASE_BROKEN, want)];
		if (!ends)
			fail_msg("phase %s reaches neither closed nor broken", pvf_phase_name((enum pvf_phase)phase));
	}
}

/* With the backend standing still, steps that need no waiting must come to an end: no cycle without a deadline. */
static void no_cycle_without_a_deadline(void **state)
{
	static bool reach[NODES][NODES];

	(void)state;
	for (uint32_t column = 0; column < PVF_COLUMNS; column++) {
		memset(reach, 0, sizeof(reach));
		for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
			for (uint32_t want = 0; want < PVF_WANTS; want++)
				add_edges(reach, phase, want, action_at(phase, want, column));
		/* A step that keeps its phase waits for the next look (leave, at Closing). */
		for (uint32_t i = 0; i < NODES; i++)
			reach[i][i] = false;
		close_over(reach);
		for (uint32_t i = 0; i < NODES; i++)
			if (reach[i][i])
				fail_msg("phase %s, intent %u loops while the backend stays in %s",
					 pvf_phase_name((enum pvf_phase)(i / PVF_WANTS)), i % PVF_WANTS,
					 pvf_state_name(column));
	}
}

static void waiting_phases_have_a_deadline_that_ends_them(void **state)
{
	static const bool rests[PVF_PHASES] = {
		[PVF_PHASE_IDLE] = true,
		[PVF_PHASE_CONNECTED] = true,
		[PVF_PHASE_CLOSED] = true,
		[PVF_PHASE_BROKEN] = true,
	};

	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++) {
		const struct pvf_action *action = deadline_at(phase);

		assert_int_equal(action->run == NULL, rests[phase]);
		for (uint32_t i = 0; action->run && action->next[i] != PVF_PHASES; i++)
			assert_int_not_equal(action->next[i], phase);
	}
}

static bool closes(uint32_t phase, uint32_t column)
{
	for (uint32_t steps = 0; steps < 2u * PVF_PHASES; steps++) {
		const struct pvf_action *action = action_at(phase, PVF_WANT_DOWN, column);

		if (phase == PVF_PHASE_CLOSED)
			return true;
		/* Stands still, or waits within its phase: the deadline comes. */
		if (!action->run || action->next[0] == phase)
			action = deadline_at(phase);
		if (!action->run)
			return false;
		phase = action->next[0];
	}
	return false;
}

static void a_device_wanted_down_closes_whatever_the_backend_does(void **state)
{
	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
		for (uint32_t column = 0; column < PVF_COLUMNS; column++)
			if (phase != PVF_PHASE_IDLE && !closes(phase, column))
				fail_msg("phase %s does not close while the backend is at %s",
					 pvf_phase_name((enum pvf_phase)phase), pvf_state_name(column));
}

/* FIELD-BUGS 47: the directory is deleted, in any phase; it must be left within one event. */
static void a_vanished_backend_is_left_at_once(void **state)
{
	(void)state;
	for (uint32_t phase = PVF_PHASE_WAITING; phase < PVF_PHASES; phase++) {
		bool rests = phase == PVF_PHASE_CLOSED || phase == PVF_PHASE_BROKEN;

		assert_int_equal(action_at(phase, PVF_WANT_UP, PVF_COLUMN_VANISHED)->run != NULL, !rests);
	}
}

/* FIELD-BUGS 49: Closed with `online` 0 must not bring the device up again by itself. */
static void an_offline_backend_is_not_connected_to_again(void **state)
{
	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++) {
		const struct pvf_action *action = action_at(phase, PVF_WANT_UP, PVF_COLUMN_OFFLINE);

		if (phase == PVF_PHASE_IDLE || phase == PVF_PHASE_RESUMING)
			continue; /* it is looked at anew first */
		assert_true(action->run != pvf_step_start && action->run != pvf_step_prepare);
	}
}

static void only_a_connected_backend_is_connected_to(void **state)
{
	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
		for (uint32_t want = 0; want < PVF_WANTS; want++)
			for (uint32_t column = 0; column < PVF_COLUMNS; column++)
				if (action_at(phase, want, column)->run == pvf_step_connect) {
					assert_int_equal(phase, PVF_PHASE_LINKED);
					assert_int_equal(column, PVF_STATE_CONNECTED);
					assert_int_not_equal(want, PVF_WANT_DOWN);
				}
}

static void names_are_there_for_every_phase_and_column(void **state)
{
	(void)state;
	for (uint32_t phase = 0; phase < PVF_PHASES; phase++)
		assert_string_not_equal(pvf_phase_name((enum pvf_phase)phase), "?");
	for (uint32_t column = 0; column < PVF_COLUMNS; column++)
		assert_string_not_equal(pvf_state_name(column), "?");
	assert_string_equal(pvf_phase_name(PVF_PHASES), "?");
	assert_string_equal(pvf_state_name(PVF_COLUMNS), "?");
}

static const struct pvf_test tests[] = {
	PVF_TEST(every_cell_names_an_action_with_an_end, "X03", "unit", "every phase, intent and state has an action"),
	PVF_TEST(every_phase_can_reach_closed_or_broken, "X03", "unit", "every phase can reach closed or broken"),
	PVF_TEST(no_cycle_without_a_deadline, "X03", "unit", "no cycle of phases is without a deadline"),
	PVF_TEST(waiting_phases_have_a_deadline_that_ends_them, "X03 X05", "unit",
		 "every phase that waits has a deadline that ends it"),
	PVF_TEST(a_device_wanted_down_closes_whatever_the_backend_does, "X03 X05", "unit",
		 "a device wanted down closes whatever the backend does"),
	PVF_TEST(a_vanished_backend_is_left_at_once, "X03", "unit",
		 "a backend whose directory is gone is left at once"),
	PVF_TEST(an_offline_backend_is_not_connected_to_again, "X03", "unit",
		 "a backend that is taken offline is not connected to again"),
	PVF_TEST(only_a_connected_backend_is_connected_to, "X03", "unit", "only a Connected backend is connected to"),
	PVF_TEST(names_are_there_for_every_phase_and_column, "X03", "unit", "every phase and state has a name"),
};

int main(void)
{
	return pvf_run_tests("unit", tests, sizeof(tests) / sizeof(tests[0]));
}
