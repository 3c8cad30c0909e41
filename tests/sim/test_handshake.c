/* SPDX-License-Identifier: MIT */
/* The handshake: what is written, in which order backends may act, and what comes of keys that are not as they should be. */
#include "fixture.h"

#include <pvfront/wire/xenbus.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a host that notes what passes through it ---- */

struct recorder {
	struct pvf_host_ops ops;
	struct pvf_host host;
	const struct pvf_host_ops *real;
	uint32_t publishes; /* batches with ring-ref in them */
	bool outside;       /* one of them was no transaction, or its state was not the last write */
	int32_t answer;     /* what such a batch answers instead of being carried out; 0: it is */
	bool deaf;          /* watches never fire */
	struct pvf_event nobody;
};

static struct recorder *recorder;

static bool ends_with(const char *path, const char *name)
{
	size_t a = strlen(path), b = strlen(name);

	return a >= b && strcmp(path + a - b, name) == 0;
}

static int recorded_store(void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline)
{
	for (uint32_t i = 0; i < n; i++)
		if (ops[i].verb == PVF_STORE_WRITE && ends_with(ops[i].path, "/ring-ref")) {
			recorder->publishes++;
			if (!(flags & PVF_STORE_TRANSACTION) || !ends_with(ops[n - 1u].path, "/state"))
				recorder->outside = true;
			if (recorder->answer)
				return recorder->answer;
		}
	return recorder->real->store(ctx, ops, n, flags, deadline);
}

static int recorded_watch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	return recorder->real->watch(ctx, path, recorder->deaf ? &recorder->nobody : event, deadline);
}

static void recorded_unwatch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	recorder->real->unwatch(ctx, path, recorder->deaf ? &recorder->nobody : event, deadline);
}

/* Between the machine and the frontend that is opened next. */
static void record(struct fx *fx, struct recorder *r)
{
	recorder = r;
	r->real = fx->host->ops;
	r->ops = *fx->host->ops;
	r->ops.store = recorded_store;
	r->ops.watch = recorded_watch;
	r->ops.unwatch = recorded_unwatch;
	r->host = *fx->host;
	r->host.ops = &r->ops;
	fx->host = &r->host;
}

/* The names in the frontend's directory, sorted as xenstored lists them, with a blank behind each. */
static void list_frontend(struct fx *fx, char *names, uint32_t room)
{
	char raw[512];
	struct pvf_store_op op = {
		.verb = PVF_STORE_LIST, .path = pvf_sim_vbd_path(fx->half), .value = raw, .capacity = sizeof(raw)};
	uint32_t used = 0;

	assert_int_equal(fx->host->ops->store(fx->host->ctx, &op, 1, 0, fx_now(fx) + 5000 * FX_MS), PVF_OK);
	assert_int_equal(op.status, PVF_OK);
	assert_true(op.length < sizeof(raw) && op.length < room);
	for (; used < op.length; used++)
		names[used] = raw[used] ? raw[used] : ' ';
	names[used] = 0;
}

/* ---- X01 ---- */

/* Golden: every key of our directory, and what it holds, after a connect. */
static void exact_keys(struct fx *fx, bool persistent)
{
	static const char *const expected[] = {
		"backend",  "backend-id", "device-type", "event-channel", "feature-persistent",
		"protocol", "ring-ref",   "state",       "virtual-device"};
	char names[600], path[64];
	uint32_t n = sizeof(expected) / sizeof(expected[0]), blanks = 0;

	list_frontend(fx, names, sizeof(names));
	for (uint32_t i = 0; names[i]; i++)
		blanks += names[i] == ' ';
	if (blanks != n)
		print_error("the keys are: %s\n", names);
	assert_int_equal(blanks, n);
	for (uint32_t i = 0; i < n; i++)
		assert_non_null(fx_frontend_key(fx, expected[i]));
	assert_string_equal(fx_frontend_key(fx, "protocol"), "x86_64-abi");
	assert_string_equal(fx_frontend_key(fx, "feature-persistent"), persistent ? "1" : "0");
	assert_string_equal(fx_frontend_key(fx, "state"), "4");
	assert_string_equal(fx_frontend_key(fx, "virtual-device"), "51712");
	snprintf(path, sizeof(path), "%u", (unsigned)strtoul(fx_frontend_key(fx, "ring-ref"), NULL, 10));
	assert_string_equal(fx_frontend_key(fx, "ring-ref"), path);
	snprintf(path, sizeof(path), "%u", (unsigned)strtoul(fx_frontend_key(fx, "event-channel"), NULL, 10));
	assert_string_equal(fx_frontend_key(fx, "event-channel"), path);
}

static void one_transaction_whatever_conflicts(void **state)
{
	struct fx *fx = *state;

	for (uint32_t conflicts = 0; conflicts <= 40; conflicts += conflicts < 6 ? 1 : 17) {
		struct recorder r = {.publishes = 0};
		uint8_t memory[512];

		fx_machine(fx, &(struct fx_options){.seed = conflicts});
		record(fx, &r);
		/* What an earlier life with another shape of ring left behind must be gone afterwards. */
		fx_set_frontend_key(fx, "ring-page-order", "2");
		fx_set_frontend_key(fx, "num-ring-pages", "4");
		fx_set_frontend_key(fx, "multi-queue-num-queues", "3");
		fx_open(fx);
		fx_faults(fx, (struct pvf_sim_faults){.conflicts = conflicts});
		fx_connect(fx);
		assert_false(r.outside);
		assert_true(r.publishes >= 1);
		exact_keys(fx, true);
		assert_int_equal(fx_read(fx, 1, memory, 512), PVF_OK);
		fx_end(fx);
	}
}

static void persistent_off_says_so(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
	struct pvf_vbd_info info;

	vbd.persistent = 0;
	fx_start(fx, &(struct fx_options){.persistent = true, .vbd = vbd});
	exact_keys(fx, false);
	assert_int_equal(pvf_vbd_info(fx->vbd, &info), PVF_OK);
	assert_false(info.persistent);
	fx_end(fx);
}

/* ---- X02 ---- */

static void watches_only_schedule(void **state)
{
	struct fx *fx = *state;
	uint8_t memory[512];

	fx_machine(fx, &(struct fx_options){0});
	fx_open(fx);
	fx_faults(fx, (struct pvf_sim_faults){.spurious_watches = 1000});
	fx_connect(fx);
	assert_int_equal(fx_read(fx, 0, memory, 512), PVF_OK);
	fx_end(fx);
}

static void without_any_watch_event(void **state)
{
	struct fx *fx = *state;
	struct recorder r = {.deaf = true};
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;
	uint8_t memory[512];

	fx_machine(fx, &(struct fx_options){.vbd = vbd});
	record(fx, &r);
	fx_open(fx);
	fx_connect(fx);
	assert_int_equal(fx_read(fx, 0, memory, 512), PVF_OK);
	fx_end(fx);
}

/* ---- X07: what xenstored may answer is shown in words ---- */

static void every_answer_of_the_store(void **state)
{
	struct fx *fx = *state;

	for (int status = PVF_STORE_NOT_FOUND; status >= PVF_STORE_PROTOCOL; status--) {
		struct recorder r = {.answer = status};

		fx_machine(fx, &(struct fx_options){0});
		record(fx, &r);
		fx_open(fx);
		assert_int_equal(pvf_vbd_connect(fx->vbd), status);
		assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_BROKEN);
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), pvf_status_text(status)));
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), "device/vbd/51712"));
		r.answer = 0;
		/* A backend that is still following the close of before would take the new keys for the old. */
		assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
		fx_await_backend(fx, '6');
		fx_connect(fx);
		fx_end(fx);
	}
}

/* ---- X08: quotas ---- */

static void quota_of_nodes(void **state)
{
	struct fx *fx = *state;

	/* The toolstack's nodes are the guest's too (its directory); some of ours do not fit any more. */
	for (uint32_t nodes = 2; nodes < 40; nodes++) {
		int status;

		fx_machine(fx, &(struct fx_options){.limits = {.store_nodes = nodes}});
		fx_open(fx);
		status = pvf_vbd_connect(fx->vbd);
		if (status != PVF_OK) {
			assert_int_equal(status, PVF_STORE_QUOTA);
			assert_non_null(strstr(pvf_vbd_error(fx->vbd), pvf_status_text(PVF_STORE_QUOTA)));
		} else {
			assert_true(nodes > 2);
			nodes = 40;
		}
		fx_end(fx);
	}
}

static void quota_of_watches(void **state)
{
	struct fx *fx = *state;
	struct pvf_event event = {0};
	static char paths[128][32];
	uint32_t n = 0;

	fx_machine(fx, &(struct fx_options){.limits = {.store_watches = 8}});
	fx_open(fx);
	for (; n < 128; n++) {
		snprintf(paths[n], sizeof(paths[n]), "mine/%u", (unsigned)n);
		if (fx->host->ops->watch(fx->host->ctx, paths[n], &event, fx_now(fx) + 5000 * FX_MS) != PVF_OK)
			break;
	}
	assert_in_range(n, 1, 127);
	/* xenstored answers E2BIG here, which by itself says something else. */
	assert_int_equal(pvf_vbd_connect(fx->vbd), PVF_STORE_TOO_BIG);
	assert_non_null(strstr(pvf_vbd_error(fx->vbd), "quota is used up"));
	while (n)
		fx->host->ops->unwatch(fx->host->ctx, paths[--n], &event, fx_now(fx) + 5000 * FX_MS);
	fx_connect(fx);
	fx_end(fx);
}

/* ---- a backend that is the test's hand ---- */

static int no_create(struct pvf_sim_backend *backend, void *config, void **backend_state)
{
	(void)config;
	*backend_state = backend;
	return PVF_OK;
}

static bool no_work(void *backend_state)
{
	(void)backend_state;
	return false;
}

static void no_destroy(void *backend_state, bool killed)
{
	(void)backend_state;
	(void)killed;
}

static const struct pvf_sim_backend_ops by_hand = {
	.size = sizeof(struct pvf_sim_backend_ops),
	.name = "by hand",
	.create = no_create,
	.work = no_work,
	.destroy = no_destroy,
};

static void start_by_hand(struct fx *fx)
{
	struct pvf_vbd_options vbd = PVF_VBD_OPTIONS;

	vbd.phase_ms = 500;
	fx_machine(fx, &(struct fx_options){.backend = &by_hand, .vbd = vbd});
	fx_open(fx);
	pvf_vbd_want(fx->vbd, PVF_WANT_UP);
}

static void say(struct fx *fx, uint32_t backend_state)
{
	char digit[2] = {(char)('0' + backend_state), 0};

	fx_set_backend_key(fx, "state", digit);
}

static void close_by_hand(struct fx *fx)
{
	pvf_vbd_want(fx->vbd, PVF_WANT_DOWN);
	say(fx, PVF_STATE_CLOSED);
	assert_true(fx_reaches(fx, PVF_PHASE_CLOSED, 3000));
	fx_end(fx);
}

/* ---- X04 ---- */

/* Any order of the states before Connected: FreeBSD says Initialised, minimal backends leave some out (FIELD-BUGS 64). */
static void any_way_up(void **state)
{
	static const char *const ways[] = {"124", "14", "4", "134", "1324", "24", "34", "1234", "04", "12324"};
	struct fx *fx = *state;

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		start_by_hand(fx);
		fx_set_backend_key(fx, "sectors", "8192");
		for (const char *step = ways[i]; *step; step++) {
			say(fx, (uint32_t)(*step - '0'));
			for (uint32_t turns = 0; turns < 4; turns++) {
				fx_rest(fx);
				(void)pvf_vbd_advance(fx->vbd);
			}
		}
		assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 2000));
		assert_string_equal(fx_frontend_key(fx, "state"), "4");
		close_by_hand(fx);
	}
}

static void skips_of_the_reference_backend(void **state)
{
	static const char *const faults[] = {"skip", "late-keys"};
	struct fx *fx = *state;
	uint8_t memory[512];

	for (uint32_t i = 0; i < 2; i++) {
		fx_start(fx, &(struct fx_options){.fault = faults[i]});
		assert_int_equal(fx_read(fx, 3, memory, 512), PVF_OK);
		assert_true(fx_is_pattern(memory, 1536, 512));
		fx_end(fx);
	}
}

/* The toolstack's unplug: Closing is drained and followed to Closed, and Initialising brings it up again. */
static void unplugged_and_back(void **state)
{
	struct fx *fx = *state;

	start_by_hand(fx);
	fx_set_backend_key(fx, "sectors", "8192");
	say(fx, PVF_STATE_CONNECTED);
	assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 2000));
	say(fx, PVF_STATE_CLOSING);
	assert_true(fx_reaches(fx, PVF_PHASE_CLOSING, 2000));
	/* At Closing it still has our pages; our Closed makes it let go. */
	assert_false(fx_reaches(fx, PVF_PHASE_CLOSED, 50));
	assert_string_equal(fx_frontend_key(fx, "state"), "6");
	say(fx, PVF_STATE_CLOSED);
	assert_true(fx_reaches(fx, PVF_PHASE_CLOSED, 2000));
	say(fx, PVF_STATE_INIT_WAIT);
	assert_true(fx_reaches(fx, PVF_PHASE_LINKED, 2000));
	say(fx, PVF_STATE_CONNECTED);
	assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 2000));
	/* FIELD-BUGS 49: not while `online` is 0. */
	fx_set_backend_key(fx, "online", "0");
	say(fx, PVF_STATE_CLOSED);
	assert_true(fx_reaches(fx, PVF_PHASE_CLOSED, 2000));
	assert_false(fx_reaches(fx, PVF_PHASE_WAITING, 50));
	fx_end(fx);
}

/* From Closed, too, a connect that fails says why, at once. */
static void failure_to_come_back_says_why(void **state)
{
	struct fx *fx = *state;
	uint64_t begin;

	start_by_hand(fx);
	fx_set_backend_key(fx, "sectors", "8192");
	say(fx, PVF_STATE_CONNECTED);
	assert_true(fx_reaches(fx, PVF_PHASE_CONNECTED, 2000));
	pvf_vbd_want(fx->vbd, PVF_WANT_DOWN);
	say(fx, PVF_STATE_CLOSED);
	assert_true(fx_reaches(fx, PVF_PHASE_CLOSED, 2000));
	fx_set_backend_key(fx, "online", "0");
	say(fx, PVF_STATE_CLOSED);
	fx_rest(fx);
	(void)pvf_vbd_advance(fx->vbd);
	begin = fx_now(fx);
	assert_int_equal(pvf_vbd_connect(fx->vbd), PVF_CLOSED);
	assert_non_null(strstr(pvf_vbd_error(fx->vbd), "online is 0"));
	(void)pvf_vbd_disconnect(fx->vbd);
	fx_faults(fx, (struct pvf_sim_faults){.fail_call = 1});
	fx_set_backend_key(fx, "online", "1");
	assert_true(pvf_vbd_connect(fx->vbd) < 0);
	assert_true(pvf_vbd_error(fx->vbd)[0] != 0);
	fx_remove_backend(fx, "");
	(void)pvf_vbd_disconnect(fx->vbd);
	fx_set_frontend_key(fx, "backend", "");
	assert_int_equal(pvf_vbd_connect(fx->vbd), PVF_GARBAGE);
	assert_non_null(strstr(pvf_vbd_error(fx->vbd), "backend is no absolute path"));
	assert_true(fx_now(fx) - begin < 1500 * FX_MS);
	fx_end(fx);
}

static void refused_by_the_backend(void **state)
{
	struct fx *fx = *state;

	for (uint32_t closed = PVF_STATE_CLOSING; closed <= PVF_STATE_CLOSED; closed++) {
		start_by_hand(fx);
		say(fx, PVF_STATE_INIT_WAIT);
		assert_true(fx_reaches(fx, PVF_PHASE_LINKED, 2000));
		say(fx, closed);
		assert_true(fx_reaches(fx, PVF_PHASE_BROKEN, 2000));
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), "it refuses our keys"));
		close_by_hand(fx);
	}
}

/* FIELD-BUGS 47 (win-xenvif 6909530): a directory that goes away is noticed at once, in every phase. */
static void vanished_in_every_phase(void **state)
{
	static const enum pvf_phase phases[] = {PVF_PHASE_WAITING, PVF_PHASE_LINKED, PVF_PHASE_CONNECTED};
	static const uint32_t states[] = {PVF_STATE_INITIALISING, PVF_STATE_INIT_WAIT, PVF_STATE_CONNECTED};
	struct fx *fx = *state;

	for (uint32_t i = 0; i < 3; i++) {
		uint64_t begin;

		start_by_hand(fx);
		fx_set_backend_key(fx, "sectors", "8192");
		say(fx, states[i]);
		assert_true(fx_reaches(fx, phases[i], 2000));
		fx_rest(fx);
		(void)pvf_vbd_advance(fx->vbd);
		begin = fx_now(fx);
		fx_remove_backend(fx, "");
		assert_true(fx_reaches(fx, PVF_PHASE_BROKEN, 2000));
		assert_true(fx_now(fx) - begin < 400 * FX_MS);
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), "has vanished"));
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), pvf_phase_name(phases[i])));
		fx_end(fx);
	}
}

static const struct pvf_test tests[] = {
	FX_BOTH(one_transaction_whatever_conflicts, "X01",
		"keys are published in one transaction, state last, however often it conflicts; stale keys go"),
	FX_BOTH(persistent_off_says_so, "X01", "feature-persistent is 0 when it is not wanted, and is not agreed on"),
	FX_BOTH(watches_only_schedule, "X02", "watch events that come twice change nothing"),
	FX_BOTH(without_any_watch_event, "X02", "it connects and closes without a single watch event"),
	FX_BOTH(every_answer_of_the_store, "X07", "every answer of xenstored to the publication is shown in words"),
	FX_STEPPED(quota_of_nodes, "X08", "a used-up quota of nodes is an error that says so"),
	FX_BOTH(quota_of_watches, "X08", "a used-up quota of watches is an error that says so"),
	FX_BOTH(any_way_up, "X04", "any order of states before Connected works"),
	FX_BOTH(skips_of_the_reference_backend, "X04 X06",
		"Initialised before InitWait, and properties after Connected, work"),
	FX_BOTH(unplugged_and_back, "X04",
		"Closing is drained and followed, and the device comes up again unless it is offline"),
	FX_BOTH(failure_to_come_back_says_why, "X04 X06", "a closed device that cannot come back says why, at once"),
	FX_BOTH(refused_by_the_backend, "X04", "a backend that closes instead of connecting is named in the error"),
	FX_BOTH(vanished_in_every_phase, "X02 X04", "a backend whose directory goes away is noticed at once"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
