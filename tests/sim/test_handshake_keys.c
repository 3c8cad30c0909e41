/* SPDX-License-Identifier: MIT */
/* The handshake: silence in every phase, and keys that are not as they should be. */
#include "fixture.h"

#include <pvfront/wire/xenbus.h>

#include <string.h>

/* ---- X05 ---- */

static void silence(struct fx *fx, const char *fault, const char *words[3])
{
	struct fx_options options = {.fault = fault, .vbd = PVF_VBD_OPTIONS};
	uint64_t begin, took;
	uint32_t i;

	options.vbd.phase_ms = 120;
	fx_machine(fx, &options);
	fx_open(fx);
	begin = fx_now(fx);
	assert_int_equal(pvf_vbd_connect(fx->vbd), PVF_TIMEOUT);
	took = fx_now(fx) - begin;
	assert_in_range(took, 110 * FX_MS, 3000 * FX_MS);
	for (i = 0; i < 3; i++) {
		if (!strstr(pvf_vbd_error(fx->vbd), words[i]))
			print_error("\"%s\" lacks \"%s\"\n", pvf_vbd_error(fx->vbd), words[i]);
		assert_non_null(strstr(pvf_vbd_error(fx->vbd), words[i]));
	}
	/* It can be closed, and connected when the backend has found its voice. */
	assert_int_equal(pvf_vbd_disconnect(fx->vbd), PVF_OK);
	if (strcmp(fault, "silent-init") != 0)
		fx_await_backend(fx, '6');
	assert_int_equal(pvf_sim_vbd_fault(fx->half, NULL), PVF_OK);
	fx_connect(fx);
	fx_end(fx);
}

static void silent_backend(void **state)
{
	struct fx *fx = *state;

	silence(fx, "silent-init", (const char *[]){"Initialising for 120 ms", "phase waiting", "51712"});
	silence(fx, "silent-initwait",
		(const char *[]){"InitWait for 120 ms", "phase linked", "frontend in Initialised"});
}

static void silent_while_closing(void **state)
{
	struct fx *fx = *state;
	struct fx_options options = {.persistent = true, .fault = "silent-close", .vbd = PVF_VBD_OPTIONS};
	uint8_t memory[512];
	uint64_t begin;

	options.vbd.phase_ms = 150;
	fx_start(fx, &options);
	assert_int_equal(fx_read(fx, 0, memory, 512), PVF_OK);
	begin = fx_now(fx);
	/* Its pages cannot be ended: parked, said, and free when it dies. */
	assert_int_equal(fx_close(fx), PVF_PAGE_HELD);
	assert_in_range(fx_now(fx) - begin, 140 * FX_MS, 2000 * FX_MS);
	pvf_sim_vbd_kill_backend(fx->half);
	assert_int_equal(pvf_host_unpark(fx->host), 0);
	fx_end(fx);
}

static void silent_store(void **state)
{
	struct fx *fx = *state;

	for (uint32_t at = 0; at < 5; at++) {
		struct fx_options options = {.vbd = PVF_VBD_OPTIONS};
		uint64_t begin;

		options.vbd.phase_ms = 100;
		options.fault = at == 1 ? "silent-init" : at == 2 ? "silent-initwait" : NULL;
		fx_machine(fx, &options);
		fx_open(fx);
		pvf_vbd_want(fx->vbd, PVF_WANT_UP);
		if (at == 1 || at == 2)
			(void)fx_reaches(fx, at == 1 ? PVF_PHASE_WAITING : PVF_PHASE_LINKED, 90);
		if (at >= 3)
			fx_connect(fx);
		fx_faults(fx, (struct pvf_sim_faults){.store_silent = true});
		begin = fx_now(fx);
		if (at < 3) {
			assert_true(pvf_vbd_connect(fx->vbd) < 0);
			assert_true(pvf_vbd_error(fx->vbd)[0] != 0);
		} else if (at == 4) {
			uint8_t memory[512];

			/* Data needs no store. */
			assert_int_equal(fx_read(fx, 0, memory, 512), PVF_OK);
		}
		(void)pvf_vbd_disconnect(fx->vbd);
		assert_true(fx_now(fx) - begin < 3000 * FX_MS);
		fx_faults(fx, (struct pvf_sim_faults){0});
		fx_rest(fx);
		(void)fx_close(fx);
		pvf_sim_vbd_kill_backend(fx->half);
		assert_int_equal(pvf_host_unpark(fx->host), 0);
		fx_end(fx);
	}
}

/* ---- X06 ---- */

struct key_case {
	const char *key;   /* "KEY=VALUE" or "KEY=" */
	int status;        /* of connect */
	const char *words; /* in the error, when it is one */
};

static const struct key_case key_cases[] = {
	/* Without a size there is no disk: waited for, then an error that names the key. */
	{"sectors=", PVF_TIMEOUT, "sectors"},
	{"sectors=0", PVF_GARBAGE, "sectors = \"0\""},
	{"sectors=-1", PVF_GARBAGE, "sectors = \"-1\""},
	{"sectors=8192x", PVF_GARBAGE, "sectors = \"8192x\""},
	{"sectors=0x2000", PVF_GARBAGE, "sectors"},
	{"sectors= 8192", PVF_GARBAGE, "sectors"},
	{"sectors=18446744073709551616", PVF_GARBAGE, "sectors"},
	{"sectors=99999999999999999999999999999999999999999999999999999999999999999999999999999999", PVF_GARBAGE,
	 "sectors"},
	{"sectors=\x01\x02\xff", PVF_GARBAGE, "sectors = \"???\""},
	{"sectors=36028797018963967", PVF_OK, NULL}, /* 2^64 bytes less a sector */
	{"sectors=36028797018963968", PVF_GARBAGE, "sectors"},
	/* A sector size that is garbage is not guessed at; absent means 512. */
	{"sector-size=", PVF_OK, NULL},
	{"sector-size=513", PVF_GARBAGE, "power of two"},
	{"sector-size=0", PVF_GARBAGE, "sector-size"},
	{"sector-size=256", PVF_GARBAGE, "sector-size"},
	{"sector-size=8192", PVF_GARBAGE, "sector-size"},
	{"sector-size=-512", PVF_GARBAGE, "sector-size"},
	{"sector-size=four", PVF_GARBAGE, "sector-size = \"four\""},
	{"sector-size=4294967808", PVF_GARBAGE, "sector-size"}, /* 2^32 + 512 */
	{"info=junk", PVF_GARBAGE, "info"},
	{"info=", PVF_OK, NULL},
	{"info=4294967296", PVF_GARBAGE, "info"},
	{"mode=", PVF_OK, NULL},
	{"mode=wwwwwwwwwwwwwwwwwwwww", PVF_GARBAGE, "mode"},
	/* Hints and features: garbage is as if they were not there. */
	{"physical-sector-size=", PVF_OK, NULL},
	{"physical-sector-size=junk", PVF_OK, NULL},
	{"physical-sector-size=3", PVF_OK, NULL},
	{"feature-flush-cache=2", PVF_OK, NULL},
	{"feature-flush-cache=yes", PVF_OK, NULL},
	{"feature-persistent=-1", PVF_OK, NULL},
	{"feature-persistent=99999999999999999999999999", PVF_OK, NULL},
	{"max-ring-page-order=junk", PVF_OK, NULL},
	{"max-ring-page-order=4294967295", PVF_OK, NULL},
	{"max-ring-page-order=", PVF_OK, NULL},
	{"multi-queue-max-queues=0", PVF_OK, NULL},
	{"multi-queue-max-queues=-7", PVF_OK, NULL},
	{"feature-max-indirect-segments=99999999999", PVF_OK, NULL},
	{"device-type=a-type-that-is-longer-than-any-that-exists", PVF_OK, NULL},
	{"device-type=", PVF_OK, NULL},
	{"online=", PVF_OK, NULL},
	{"online=junk", PVF_OK, NULL},
	/* A state that does not exist is none: waited out. */
	{"state=9", PVF_TIMEOUT, "a state that does not exist"},
	{"state=-1", PVF_TIMEOUT, "a state that does not exist"},
	{"state=99999999999999999999", PVF_TIMEOUT, "a state that does not exist"},
	{"state=junk", PVF_TIMEOUT, "a state that does not exist"},
	{"state=", PVF_TIMEOUT, "Unknown"},
};

static void each_key_each_value(void **state)
{
	struct fx *fx = *state;

	for (uint32_t i = 0; i < sizeof(key_cases) / sizeof(key_cases[0]); i++) {
		const struct key_case *c = &key_cases[i];
		struct fx_options options = {.persistent = true, .keys = &c->key, .nr_keys = 1, .vbd = PVF_VBD_OPTIONS};
		int status;

		options.vbd.phase_ms =
			c->status == PVF_TIMEOUT ? 400 : 5000; /* a loaded machine's store takes its time */
		fx_machine(fx, &options);
		fx_open(fx);
		status = pvf_vbd_connect(fx->vbd);
		if (status != c->status)
			print_error("%s: %s, expected %s: %s\n", c->key, pvf_status_name(status),
				    pvf_status_name(c->status), pvf_vbd_error(fx->vbd));
		assert_int_equal(status, c->status);
		if (c->words && !strstr(pvf_vbd_error(fx->vbd), c->words))
			print_error("%s: the error is \"%s\"\n", c->key, pvf_vbd_error(fx->vbd));
		if (c->words)
			assert_non_null(strstr(pvf_vbd_error(fx->vbd), c->words));
		if (status == PVF_OK) {
			uint8_t memory[512];

			assert_int_equal(fx_read(fx, 9, memory, 512), PVF_OK);
			assert_true(fx_is_pattern(memory, 9 * 512, 512));
		}
		(void)fx_close(fx);
		/* A backend whose state cannot be read is waited out, and may still have mapped something. */
		pvf_sim_vbd_kill_backend(fx->half);
		assert_int_equal(pvf_host_unpark(fx->host), 0);
		fx_end(fx);
	}
}

/* Keys of our own directory, which the toolstack writes. */
static void frontend_keys(void **state)
{
	static const struct {
		const char *name, *value;
		int status;
	} cases[] = {
		{"backend", "relative/path", PVF_GARBAGE},
		{"backend", "", PVF_GARBAGE},
		{"backend-id", "junk", PVF_GARBAGE},
		{"backend-id", "70000", PVF_GARBAGE},
		{"backend-id", "-1", PVF_GARBAGE},
		{"virtual-device", "junk", PVF_GARBAGE},
		{"trusted", "junk", PVF_OK},
		{"trusted", "0", PVF_OK},
		{"state", "junk", PVF_OK},
		{"state", "4", PVF_OK},
		{"state", "6", PVF_OK},
	};
	struct fx *fx = *state;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status;

		fx_machine(fx, &(struct fx_options){0});
		fx_rest(fx);
		fx_await_backend(fx, '2');
		fx_set_frontend_key(fx, cases[i].name, cases[i].value);
		/* The backend acts on a state of 4 or 6, too: nothing is published at 4, so it closes. */
		if (strcmp(cases[i].name, "state") == 0 && cases[i].value[1] == 0)
			fx_await_backend(fx, cases[i].value[0] == '4' ? '5' : '6');
		fx_open(fx);
		status = pvf_vbd_connect(fx->vbd);
		if (status != cases[i].status)
			print_error("%s = %s: %s: %s\n", cases[i].name, cases[i].value, pvf_status_name(status),
				    pvf_vbd_error(fx->vbd));
		assert_int_equal(status, cases[i].status);
		if (status != PVF_OK)
			assert_non_null(strstr(pvf_vbd_error(fx->vbd), cases[i].name));
		fx_end(fx);
	}
}

static void no_such_device(void **state)
{
	struct fx *fx = *state;
	struct pvf_vbd_options options = PVF_VBD_OPTIONS, wrong = PVF_VBD_OPTIONS;
	struct pvf_vbd *vbd = NULL;

	fx_machine(fx, &(struct fx_options){0});
	assert_int_equal(pvf_vbd_open(fx->host, "device/vbd/768", &options, &vbd), PVF_OK);
	assert_int_equal(pvf_vbd_connect(vbd), PVF_STORE_NOT_FOUND);
	assert_non_null(strstr(pvf_vbd_error(vbd), "device/vbd/768/backend is not there"));
	assert_int_equal(pvf_vbd_close(vbd), PVF_OK);
	wrong.size = 4;
	assert_int_equal(pvf_vbd_open(fx->host, "device/vbd/51712", &wrong, &vbd), PVF_INVALID);
	assert_null(vbd);
	wrong = options;
	wrong.ring_order = 1;
	assert_int_equal(pvf_vbd_open(fx->host, "device/vbd/51712", &wrong, &vbd), PVF_UNSUPPORTED);
	wrong = options;
	wrong.bounce_pages = 10;
	assert_int_equal(pvf_vbd_open(fx->host, "device/vbd/51712", &wrong, &vbd), PVF_RANGE);
	assert_int_equal(pvf_vbd_open(fx->host, "", &options, &vbd), PVF_INVALID);
	fx_end(fx);
}

static const struct pvf_test tests[] = {
	FX_BOTH(silent_backend, "X05",
		"a backend that is silent is given up at the deadline, with phase and states named"),
	FX_BOTH(silent_while_closing, "X05 V22", "a backend that never follows cannot keep the device from closing"),
	FX_BOTH(silent_store, "X05", "a store that is silent is given up at the deadline, and data goes on without it"),
	FX_BOTH(each_key_each_value, "X06", "backend keys absent, huge, negative or garbage: the row's rule"),
	FX_BOTH(frontend_keys, "X06", "keys of the frontend's directory that are garbage: the row's rule"),
	FX_STEPPED(no_such_device, "X06", "a device that is not there, and options that are wrong, are refused"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
