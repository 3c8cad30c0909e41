/* SPDX-License-Identifier: MIT */
/* Each fault of the reference backend does what its line in pvf_sim_fault_names says. */
#include "bare.h"
#include "check.h"

#include <pvfront/compiler.h>

#include <stdio.h>
#include <string.h>

#define READ PVF_WIRE_BLKIF_OP_READ
#define WRITE PVF_WIRE_BLKIF_OP_WRITE

static void start(struct bare *bare, const char *fault)
{
	bare_attach(bare, (struct pvf_sim_vbd_options){.fault = fault, .backend_persistent = true});
	bare_connect(bare, false, 0xfffffffcu);
}

/* Puts `n` reads of a page each, published at once; ids[] receives theirs. */
static void put_reads(struct bare *bare, uint32_t n, uint64_t *ids)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pvf_wire_blkif_request request = bare_request(bare, READ, i * 8, i % BARE_PAGES, 1);

		ids[i] = request.id;
		bare_put(bare, &request);
	}
	(void)bare_push(bare);
}

static void corrupt(void **state)
{
	struct bare *bare = *state;
	uint8_t disk[4096];
	uint32_t wrong = 0;

	start(bare, "corrupt@3");
	for (uint32_t i = 0; i < 5; i++) {
		struct pvf_wire_blkif_request request = bare_request(bare, READ, i * 8, 0, 1);

		assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
		assert_int_equal(bare->disk.read(bare->disk.ctx, i * 4096u, disk, sizeof(disk)), PVF_OK);
		for (uint32_t byte = 0; byte < sizeof(disk); byte++) {
			if (disk[byte] == bare_page(bare, 0)[byte])
				continue;
			assert_int_equal(i, 2);
			wrong++;
		}
	}
	assert_int_equal(wrong, 1);
	bare_close(bare);
}

static void size(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	start(bare, "size@2");
	assert_string_equal(bare_key(bare, "sectors"), "8192");
	request = bare_request(bare, READ, BARE_SECTORS, 0, 1);
	assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_ERROR);
	bare_close(bare);
}

static void assert_dead(struct bare *bare)
{
	struct pvf_wire_blkif_response response;
	uint64_t id;

	put_reads(bare, 1, &id);
	assert_false(bare_take(bare, &response, 20));
}

static void die(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	start(bare, "die@2");
	request = bare_request(bare, READ, 0, 0, 1);
	assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
	assert_dead(bare);
	assert_string_equal(bare_key(bare, "state"), "4");
	assert_int_equal(bare_counters(bare).grants_mapped, 0);
}

static void stall(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	start(bare, "stall@2");
	request = bare_request(bare, READ, 0, 0, 1);
	assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
	assert_dead(bare);
	assert_dead(bare);
	assert_int_equal(bare_counters(bare).grants_mapped, 1);
	bare_close(bare);
}

static void silent(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){.fault = "silent-init"});
	bare_rest(bare);
	assert_string_equal(bare_key(bare, "state"), "1");
	assert_null(bare_key(bare, "max-ring-page-order"));
	/* Another fault lets it go on to where that one holds it. */
	assert_int_equal(pvf_sim_vbd_fault(bare->vbd, "silent-initwait"), PVF_OK);
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	bare_publish(bare, false, 0);
	bare_state(bare, PVF_STATE_INITIALISED);
	assert_false(bare_backend_reaches(bare, PVF_STATE_CONNECTED, 30));
	assert_string_equal(bare_key(bare, "state"), "2");
	assert_int_equal(pvf_sim_vbd_fault(bare->vbd, "silent-close"), PVF_OK);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CONNECTED, 5000));
	bare_state(bare, PVF_STATE_CLOSING);
	assert_false(bare_backend_reaches(bare, PVF_STATE_CLOSING, 30));
	bare_state(bare, PVF_STATE_CLOSED);
	assert_false(bare_backend_reaches(bare, PVF_STATE_CLOSED, 30));
	assert_int_equal(bare_release(bare), PVF_UNSHARE_BUSY);
	assert_int_equal(pvf_sim_vbd_fault(bare->vbd, NULL), PVF_OK);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSED, 5000));
	assert_int_equal(pvf_sim_vbd_fault(bare->vbd, "nonsense"), PVF_INVALID);
}

/* ---- responses ---- */

static struct pvf_wire_blkif_response second_of_three(struct bare *bare, const char *fault)
{
	struct pvf_wire_blkif_response response[3];
	uint64_t ids[3];

	start(bare, fault);
	put_reads(bare, 3, ids);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(bare_take(bare, &response[i], 5000));
		if (i == 1)
			continue;
		assert_int_equal(response[i].id, ids[i]);
		assert_int_equal(response[i].operation, READ);
		assert_int_equal(response[i].status, PVF_WIRE_BLKIF_OKAY);
	}
	bare_close(bare);
	return response[1];
}

static void error(void **state)
{
	assert_int_equal(second_of_three(*state, "error@2").status, PVF_WIRE_BLKIF_ERROR);
}

static void unsupported(void **state)
{
	assert_int_equal(second_of_three(*state, "unsupported@2").status, PVF_WIRE_BLKIF_EOPNOTSUPP);
}

static void bad_id(void **state)
{
	struct pvf_wire_blkif_response response = second_of_three(*state, "bad-id@2");

	assert_true(response.id > UINT32_MAX);
	assert_int_equal(response.status, PVF_WIRE_BLKIF_OKAY);
}

static void free_id(void **state)
{
	/* Slots 0, 1 and 2 are in use. */
	assert_in_range(second_of_three(*state, "free-id@2").id, 3, 31);
}

static void bad_op(void **state)
{
	assert_int_equal(second_of_three(*state, "bad-op@2").operation, WRITE);
}

static void bad_status(void **state)
{
	int16_t status = second_of_three(*state, "bad-status@2").status;

	assert_true(status > 0 || status < PVF_WIRE_BLKIF_EOPNOTSUPP);
}

static void stale_id(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	struct pvf_wire_blkif_response response;

	start(bare, "stale-id");
	for (uint32_t i = 0; i < 32; i++) {
		request = bare_request(bare, READ, 0, 0, 1);
		assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
	}
	/* The first request that uses a slot again. */
	request = bare_request(bare, READ, 0, 0, 1);
	bare_put(bare, &request);
	(void)bare_push(bare);
	assert_true(bare_take(bare, &response, 5000));
	assert_int_not_equal(response.id, request.id);
	assert_int_equal(response.id & 31, request.id & 31);
	bare_close(bare);
}

static void repeat(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_response first, again;
	uint64_t ids[2];

	start(bare, "repeat");
	put_reads(bare, 2, ids);
	assert_true(bare_take(bare, &first, 5000));
	assert_true(bare_take(bare, &again, 5000));
	assert_int_equal(first.id, ids[0]);
	assert_memory_equal(&first, &again, sizeof(first));
	assert_true(bare_take(bare, &again, 5000));
	assert_int_equal(again.id, ids[1]);
}

static void shuffle(void **state)
{
	struct bare *bare = *state;
	uint64_t ids[24];
	uint32_t seen = 0, moved = 0;

	start(bare, "shuffle@5");
	put_reads(bare, 24, ids);
	for (uint32_t i = 0; i < 24; i++) {
		struct pvf_wire_blkif_response response;

		assert_true(bare_take(bare, &response, 5000));
		moved += response.id != ids[i];
		assert_false(seen & 1u << response.id);
		seen |= 1u << response.id;
	}
	assert_int_equal(seen, (1u << 24) - 1);
	assert_in_range(moved, 2, 24);
	bare_close(bare);
}

/* ---- the producer index, notifications ---- */

static uint32_t published_after(struct bare *bare, const char *fault)
{
	uint32_t before;
	uint64_t id;

	start(bare, fault);
	before = bare->rsp_cons;
	put_reads(bare, 1, &id);
	bare_await(bare, pvf_load32_acquire(&bare->ring->rsp_prod) != before);
	return pvf_load32_acquire(&bare->ring->rsp_prod) - before;
}

static void overrun(void **state)
{
	assert_in_range(published_after(*state, "overrun"), 33, 10000);
}

static void backwards(void **state)
{
	assert_int_equal(published_after(*state, "backwards"), UINT32_MAX);
}

static uint32_t events_of(struct bare *bare, const char *fault)
{
	uint32_t before;
	uint64_t id;

	start(bare, fault);
	before = pvf_event_sequence(&bare->event);
	for (uint32_t i = 1; i <= 3; i++) {
		put_reads(bare, 1, &id);
		bare_await_idle(bare);
		assert_int_equal(pvf_load32_acquire(&bare->ring->rsp_prod), bare->rsp_cons + i);
		pvf_store32(&bare->ring->rsp_event, bare->rsp_cons + i + 1);
	}
	before = pvf_event_sequence(&bare->event) - before;
	bare_close(bare);
	return before;
}

static void double_notify(void **state)
{
	assert_int_equal(events_of(*state, "double-notify@2"), 1 + 2 + 2);
}

static void no_notify(void **state)
{
	assert_int_equal(events_of(*state, "no-notify@3"), 2);
}

static void early(void **state)
{
	struct bare *bare = *state;
	uint32_t in_time = 0;

	start(bare, "early");
	for (uint32_t i = 0; i < 20; i++) {
		struct pvf_wire_blkif_response response;
		uint64_t id;

		bare_rest(bare);
		put_reads(bare, 1, &id);
		in_time += pvf_load32_acquire(&bare->ring->rsp_prod) != bare->rsp_cons;
		assert_true(bare_take(bare, &response, 5000));
		assert_int_equal(response.id, id);
	}
	/* Threads make no promise, but it does not wait for an event. */
	if (bare->stepped)
		assert_int_equal(in_time, 20);
	bare_close(bare);
}

/* ---- states ---- */

static void closed(void **state)
{
	struct bare *bare = *state;

	start(bare, "closed");
	assert_dead(bare);
	assert_string_equal(bare_key(bare, "state"), "6");
	bare_state(bare, PVF_STATE_CLOSED);
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
	bare_state(bare, PVF_STATE_INITIALISING);
	bare_connect(bare, false, 0);
	bare_close(bare);
}

static void restart(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	start(bare, "restart");
	request = bare_request(bare, READ, 0, 0, 1);
	bare_put(bare, &request);
	(void)bare_push(bare);
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
	bare_state(bare, PVF_STATE_INITIALISING);
	bare_connect(bare, false, 0);
	request = bare_request(bare, READ, 0, 0, 1);
	assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
	bare_close(bare);
}

static void vanish(void **state)
{
	struct bare *bare = *state;

	start(bare, "vanish");
	assert_dead(bare);
	assert_null(bare_key(bare, "state"));
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
}

static void skip_initwait(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){.fault = "skip"});
	assert_true(bare_backend_reaches(bare, PVF_STATE_INITIALISED, 5000));
	/* With threads it goes on after a while of its own. */
	if (bare->stepped)
		assert_null(bare_key(bare, "max-ring-page-order"));
	bare_connect(bare, false, 0);
	bare_close(bare);
}

static void late_keys(void **state)
{
	struct bare *bare = *state;

	start(bare, "late-keys");
	if (bare->stepped)
		assert_null(bare_key(bare, "sectors"));
	bare_await(bare, bare_key(bare, "sectors"));
	assert_string_equal(bare_key(bare, "sectors"), "4096");
	bare_close(bare);
}

static void keep_grants(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	start(bare, "keep-grants");
	for (uint32_t i = 0; i < 3; i++) {
		request = bare_request(bare, READ, 0, 0, 2);
		assert_int_equal(bare_do(bare, &request), PVF_WIRE_BLKIF_OKAY);
	}
	bare_state(bare, PVF_STATE_CLOSING);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSING, 5000));
	bare_state(bare, PVF_STATE_CLOSED);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSED, 5000));
	assert_int_equal(bare_release(bare), PVF_UNSHARE_BUSY);
	assert_int_equal(bare_counters(bare).grants_mapped, 3);
	/* Its end is the end of its mappings. */
	pvf_sim_vbd_kill_backend(bare->vbd);
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
}

static void names_are_complete(void **state)
{
	struct bare *bare = *state;
	uint32_t n = 0;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	for (const struct pvf_sim_fault_name *name = pvf_sim_fault_names; name->name; name++, n++) {
		char numbered[64];

		assert_true(strlen(name->text) > 10);
		assert_int_equal(pvf_sim_vbd_fault(bare->vbd, name->name), PVF_OK);
		snprintf(numbered, sizeof(numbered), "%s@1000", name->name);
		assert_int_equal(pvf_sim_vbd_fault(bare->vbd, numbered), PVF_OK);
		snprintf(numbered, sizeof(numbered), "%s@", name->name);
		assert_int_equal(pvf_sim_vbd_fault(bare->vbd, numbered), PVF_INVALID);
	}
	assert_int_equal(n, 27);
}

#define BOTH(function, rows, sentence) \
	PVF_TEST_WITH(function, bare_threaded, bare_teardown, rows, "sim", sentence), \
		PVF_TEST_WITH(function, bare_stepped, bare_teardown, rows, "sim-stepped", sentence)

static const struct pvf_test tests[] = {
	BOTH(corrupt, "V32", "fault corrupt flips one bit of the third read"),
	BOTH(size, "X06", "fault size announces a larger disk, and reads past the real end fail"),
	BOTH(die, "V22", "fault die ends the backend without a word"),
	BOTH(stall, "X05", "fault stall answers nothing more"),
	BOTH(silent, "X05",
	     "faults silent-init, silent-initwait and silent-close each hold up their step, until changed"),
	BOTH(error, "V32", "fault error answers one request with ERROR"),
	BOTH(unsupported, "V32", "fault unsupported answers one request with EOPNOTSUPP"),
	BOTH(bad_id, "V32", "fault bad-id answers under an id never given"),
	BOTH(free_id, "V32", "fault free-id answers under the id of an unused slot"),
	BOTH(stale_id, "V32", "fault stale-id answers under an earlier id of the same slot"),
	BOTH(repeat, "V32", "fault repeat answers twice"),
	BOTH(bad_op, "V32", "fault bad-op answers as another operation"),
	BOTH(bad_status, "V32", "fault bad-status answers with a status that is none"),
	BOTH(shuffle, "V32", "fault shuffle answers each request once, out of order"),
	BOTH(overrun, "V32", "fault overrun publishes an index far ahead"),
	BOTH(backwards, "V32", "fault backwards publishes an index that goes back"),
	BOTH(double_notify, "V31", "fault double-notify doubles notifications from the second on"),
	BOTH(no_notify, "V31", "fault no-notify loses notifications from the third on"),
	BOTH(early, "V32", "fault early answers before the frontend's push returns"),
	BOTH(closed, "X04", "fault closed goes to Closed without Closing, and opens again"),
	BOTH(restart, "X04", "fault restart falls back and serves a new ring"),
	BOTH(vanish, "V22", "fault vanish removes the backend's directory"),
	BOTH(skip_initwait, "X04", "fault skip says Initialised before InitWait"),
	BOTH(late_keys, "X06", "fault late-keys writes the disk's properties after Connected"),
	BOTH(keep_grants, "V22", "fault keep-grants unmaps nothing until the backend ends"),
	BOTH(names_are_complete, "V32", "every fault has a name, a line that explains it, and takes a number"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
