/* SPDX-License-Identifier: MIT */
/* The reference backend, driven by a frontend written by hand: handshake, checks, grants, counters. */
#include "bare.h"
#include "check.h"

#include <pvfront/compiler.h>

#include <stdio.h>
#include <string.h>

#define READ PVF_WIRE_BLKIF_OP_READ
#define WRITE PVF_WIRE_BLKIF_OP_WRITE
#define FLUSH PVF_WIRE_BLKIF_OP_FLUSH
#define OKAY PVF_WIRE_BLKIF_OKAY
#define ERROR PVF_WIRE_BLKIF_ERROR
#define UNSUPPORTED PVF_WIRE_BLKIF_EOPNOTSUPP

static void assert_key(struct bare *bare, const char *name, const char *value)
{
	const char *found = bare_key(bare, name);

	if (!value) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_string_equal(found, value);
}

/* ---- handshake ---- */

static void announces_then_publishes(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){.backend_persistent = true});
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	assert_key(bare, "max-ring-page-order", "0");
	assert_key(bare, "multi-queue-max-queues", "1");
	assert_key(bare, "feature-max-indirect-segments", NULL);
	assert_key(bare, "sectors", NULL);
	assert_key(bare, "feature-persistent", NULL);
	assert_key(bare, "frontend", "/local/domain/1/device/vbd/51712");
	assert_key(bare, "frontend-id", "1");
	assert_key(bare, "online", "1");
	assert_key(bare, "mode", "w");
	bare_publish(bare, true, 0);
	bare_state(bare, PVF_STATE_CONNECTED); /* 4 without 3 will do, as for blkback */
	assert_true(bare_backend_reaches(bare, PVF_STATE_CONNECTED, 5000));
	assert_key(bare, "sectors", "4096");
	assert_key(bare, "sector-size", "512");
	assert_key(bare, "physical-sector-size", "512");
	assert_key(bare, "info", "0");
	assert_key(bare, "feature-flush-cache", "1");
	assert_key(bare, "feature-persistent", "1");
	bare_close(bare);
}

static void read_only_disk(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	bare->disk.read_only = true;
	bare_attach(bare, (struct pvf_sim_vbd_options){.physical_sector_size = 4096});
	bare_connect(bare, false, 0);
	assert_key(bare, "mode", "r");
	assert_key(bare, "info", "4");
	assert_key(bare, "physical-sector-size", "4096");
	assert_key(bare, "feature-persistent", NULL);
	request = bare_request(bare, WRITE, 0, 0, 1);
	assert_int_equal(bare_do(bare, &request), ERROR);
	assert_int_equal(bare_counters(bare).bytes_written, 0);
	bare_close(bare);
}

static void reopens_and_ends(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	char path[160];

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	for (uint32_t i = 0; i < 3; i++) {
		bare_connect(bare, false, i * 100);
		request = bare_request(bare, READ, i, 0, 1);
		assert_int_equal(bare_do(bare, &request), OKAY);
		bare_close(bare);
		bare_state(bare, PVF_STATE_INITIALISING);
	}
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	/* The toolstack takes the device offline: once the frontend is closed, the backend does not come back. */
	snprintf(path, sizeof(path), "%s/online", pvf_sim_vbd_backend_path(bare->vbd));
	assert_int_equal(pvf_sim_store_write(bare->sim, path, "0", 1), PVF_OK);
	bare_state(bare, PVF_STATE_CLOSED);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSED, 5000));
	bare_rest(bare);
	bare_state(bare, PVF_STATE_INITIALISING);
	assert_false(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 50));
}

static const struct bad_key {
	const char *name, *value;
} bad_keys[] = {
	{"ring-page-order", "1"}, {"ring-page-order", "x"}, {"multi-queue-num-queues", "2"}, {"protocol", "x86_32-abi"},
	{"ring-ref", "99999999"}, {"ring-ref", ""},         {"event-channel", "4000000000"}, {"event-channel", "-1"},
	{"ring-ref", NULL},       {"event-channel", NULL},
};

static void refuses_bad_frontend_keys(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	for (size_t i = 0; i < sizeof(bad_keys) / sizeof(bad_keys[0]); i++) {
		assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
		bare_publish(bare, false, 0);
		if (bad_keys[i].value)
			bare_write(bare, bad_keys[i].name, bad_keys[i].value);
		else
			bare_remove(bare, bad_keys[i].name);
		bare_state(bare, PVF_STATE_INITIALISED);
		assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSING, 5000));
		bare_remove(bare, "ring-page-order");
		bare_remove(bare, "multi-queue-num-queues");
		bare_state(bare, PVF_STATE_CLOSED);
		assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSED, 5000));
		assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
		bare_state(bare, PVF_STATE_INITIALISING);
	}
	/* And is as good as new. */
	bare_connect(bare, false, 0);
	bare_close(bare);
}

static void refuses_impossible_indices(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	bare_publish(bare, false, 0);
	bare->ring->req_prod = 33;
	bare_state(bare, PVF_STATE_INITIALISED);
	assert_true(bare_backend_reaches(bare, PVF_STATE_CLOSING, 5000));
}

static void overrides_keys(void **state)
{
	static const char *const keys[] = {
		"sectors=12 apples", "feature-persistent=", "mode=r", "custom=x=y", "info=", "info=7", "state=9",
	};
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){
				  .backend_persistent = true, .backend_keys = keys, .nr_backend_keys = 7});
	assert_key(bare, "custom", "x=y");
	assert_key(bare, "sectors", "12 apples");
	bare_rest(bare);
	bare_publish(bare, true, 0);
	bare_state(bare, PVF_STATE_INITIALISED);
	bare_await(bare, bare_key(bare, "sector-size"));
	bare_rest(bare);
	assert_key(bare, "state", "9");
	assert_key(bare, "sectors", "12 apples");
	assert_key(bare, "feature-persistent", NULL);
	assert_key(bare, "mode", "r");
	assert_key(bare, "info", "7");
	assert_key(bare, "sector-size", "512");
}

static void leaves_keys_alone(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	char path[160];

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	snprintf(path, sizeof(path), "%s/sectors", pvf_sim_vbd_backend_path(bare->vbd));
	assert_int_equal(pvf_sim_store_write(bare->sim, path, "\0\377", 2), PVF_OK);
	snprintf(path, sizeof(path), "%s/info", pvf_sim_vbd_backend_path(bare->vbd));
	assert_int_equal(pvf_sim_store_remove(bare->sim, path), PVF_OK);
	request = bare_request(bare, READ, 5, 0, 1);
	assert_int_equal(bare_do(bare, &request), OKAY);
	bare_rest(bare);
	assert_memory_equal(bare_key(bare, "sectors"), "\0\377", 2);
	assert_key(bare, "info", NULL);
	bare_close(bare);
}

/* ---- data ---- */

static void assert_disk(struct bare *bare, uint64_t sector, const uint8_t *data, uint32_t bytes)
{
	uint8_t found[11 * 4096];

	assert_int_equal(bare->disk.read(bare->disk.ctx, sector * 512, found, bytes), PVF_OK);
	assert_memory_equal(found, data, bytes);
}

static void moves_data(struct bare *bare, bool persistent)
{
	struct pvf_wire_blkif_request request;

	bare_attach(bare, (struct pvf_sim_vbd_options){.backend_persistent = persistent});
	bare_connect(bare, persistent, 0xfffffff0u);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t pages = 1 + i % 11, page = i % 20;

		request = bare_request(bare, READ, i * 8, page, pages);
		assert_int_equal(bare_do(bare, &request), OKAY);
		assert_disk(bare, i * 8, bare_page(bare, page), pages * 4096);
		memset(bare_page(bare, page), (int)(i + 1), pages * 4096);
		request.operation = WRITE;
		assert_int_equal(bare_do(bare, &request), OKAY);
		assert_disk(bare, i * 8, bare_page(bare, page), pages * 4096);
	}
	/* Single sectors of a page, in an order of pages that is not that of memory. */
	request = bare_request(bare, READ, 1000, 0, 3);
	request.seg[0].gref = bare->data_refs[9];
	request.seg[0].first_sect = request.seg[0].last_sect = 7;
	request.seg[1].gref = bare->data_refs[4];
	request.seg[1].last_sect = 0;
	request.seg[2].first_sect = 2;
	request.seg[2].last_sect = 5;
	assert_int_equal(bare_do(bare, &request), OKAY);
	assert_disk(bare, 1000, bare_page(bare, 9) + 7 * 512, 512);
	assert_disk(bare, 1001, bare_page(bare, 4), 512);
	assert_disk(bare, 1002, bare_page(bare, 2) + 2 * 512, 4 * 512);
	request = bare_request(bare, FLUSH, 0, 0, 0);
	assert_int_equal(bare_do(bare, &request), OKAY);
	bare_close(bare);
}

static void moves_data_persistent(void **state)
{
	moves_data(*state, true);
}

static void moves_data_mapping_each(void **state)
{
	moves_data(*state, false);
}

/* ---- bad requests ---- */

static const struct bad_request {
	const char *what;
	uint8_t op;
	uint8_t pages;
	uint8_t first, last; /* of segment 0 */
	uint32_t ref;        /* of segment 0, 0: a good one */
	uint64_t sector;
	int status;
} bad_requests[] = {
	{"no segment", READ, 0, 0, 7, 0, 0, ERROR},
	{"twelve segments", WRITE, 12, 0, 7, 0, 0, ERROR},
	{"255 segments", READ, 255, 0, 7, 0, 0, ERROR},
	{"first after last", WRITE, 1, 3, 2, 0, 0, ERROR},
	{"beyond the page", READ, 1, 0, 8, 0, 0, ERROR},
	{"far beyond the page", WRITE, 2, 0, 255, 0, 0, ERROR},
	{"one sector past the end", WRITE, 1, 0, 7, 0, BARE_SECTORS - 7, ERROR},
	{"at the end", READ, 1, 0, 0, 0, BARE_SECTORS, ERROR},
	{"a sector that overflows", WRITE, 1, 0, 7, 0, UINT64_MAX, ERROR},
	{"a byte offset that overflows", WRITE, 1, 0, 7, 0, UINT64_C(1) << 55, ERROR},
	{"a reference never granted", WRITE, 1, 0, 7, 20000, 0, ERROR},
	{"a reference beyond the table", READ, 1, 0, 7, 0xfffffffe, 0, ERROR},
	{"the reference that is none", READ, 1, 0, 7, 0xffffffff, 0, ERROR},
	{"a flush with segments", FLUSH, 1, 0, 7, 0, 0, ERROR},
	{"a barrier", PVF_WIRE_BLKIF_OP_WRITE_BARRIER, 1, 0, 7, 0, 0, UNSUPPORTED},
	{"a discard", PVF_WIRE_BLKIF_OP_DISCARD, 0, 0, 7, 0, 0, UNSUPPORTED},
	{"indirect segments", PVF_WIRE_BLKIF_OP_INDIRECT, 1, 0, 7, 0, 0, UNSUPPORTED},
	{"an operation that is none", 200, 1, 0, 7, 0, 0, UNSUPPORTED},
};

static void refuses_bad_requests(void **state)
{
	size_t n = sizeof(bad_requests) / sizeof(bad_requests[0]);
	struct bare *bare = *state;
	struct pvf_sim_vbd_counters counters;
	uint8_t before[4096];

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	assert_int_equal(bare->disk.read(bare->disk.ctx, 0, before, sizeof(before)), PVF_OK);
	memset(bare_page(bare, 0), 0xee, BARE_PAGES * 4096);
	for (size_t i = 0; i < n; i++) {
		const struct bad_request *bad = &bad_requests[i];
		struct pvf_wire_blkif_request request = bare_request(bare, bad->op, bad->sector, 0, bad->pages);
		int status;

		request.seg[0].first_sect = bad->first;
		request.seg[0].last_sect = bad->last;
		if (bad->ref)
			request.seg[0].gref = bad->ref;
		status = bare_do(bare, &request);
		if (status != bad->status)
			fail_msg("%s: status %d, not %d", bad->what, status, bad->status);
	}
	assert_disk(bare, 0, before, sizeof(before));
	counters = bare_counters(bare);
	assert_int_equal(counters.refused, n);
	assert_int_equal(counters.other, 4);
	assert_int_equal(counters.bytes_read + counters.bytes_written, 0);
	/* Only the ring is still mapped: no path of refusal keeps a page. */
	assert_int_equal(counters.grants_mapped, 1);
	bare_close(bare);
}

static void aligns_to_large_sectors(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	bare_attach(bare, (struct pvf_sim_vbd_options){.sector_size = 2048});
	bare_connect(bare, false, 0);
	assert_key(bare, "sectors", "4096");
	assert_key(bare, "sector-size", "2048");
	request = bare_request(bare, READ, 4, 0, 1);
	request.seg[0].first_sect = 4;
	assert_int_equal(bare_do(bare, &request), OKAY);
	assert_disk(bare, 4, bare_page(bare, 0) + 2048, 2048);
	request.sector_number = 5;
	assert_int_equal(bare_do(bare, &request), ERROR);
	request.sector_number = 4;
	request.seg[0].first_sect = 5;
	assert_int_equal(bare_do(bare, &request), ERROR);
	request.seg[0].first_sect = 0;
	request.seg[0].last_sect = 1;
	assert_int_equal(bare_do(bare, &request), ERROR);
	bare_close(bare);
}

static void stops_at_an_overrun(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_response response;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	bare->req_prod = 33;
	(void)bare_push(bare);
	bare->host->ops->evtchn_notify(bare->host->ctx, bare->port);
	assert_false(bare_take(bare, &response, 50));
	assert_int_equal(bare_counters(bare).reads + bare_counters(bare).other, 0);
	bare_close(bare);
}

/* ---- grants ---- */

static void keeps_mappings(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	struct pvf_sim_vbd_counters counters;

	bare_attach(bare, (struct pvf_sim_vbd_options){.backend_persistent = true});
	bare_connect(bare, true, 0);
	for (uint32_t i = 0; i < 50; i++) {
		request = bare_request(bare, i & 1 ? READ : WRITE, i, 3, 4);
		assert_int_equal(bare_do(bare, &request), OKAY);
	}
	counters = bare_counters(bare);
	assert_int_equal(counters.grant_maps, 1 + 4);
	assert_int_equal(counters.grant_unmaps, 0);
	assert_int_equal(counters.grants_mapped, 1 + 4);
	assert_int_equal(counters.persistent_mapped, 4);
	bare_close(bare);
	counters = bare_counters(bare);
	assert_int_equal(counters.grants_mapped, 0);
	assert_int_equal(counters.persistent_mapped, 0);
	assert_int_equal(counters.grant_unmaps, 1 + 4);
}

static void maps_for_each_request(struct bare *bare, bool frontend, bool backend)
{
	struct pvf_wire_blkif_request request;
	struct pvf_sim_vbd_counters counters;

	bare_attach(bare, (struct pvf_sim_vbd_options){.backend_persistent = backend});
	bare_connect(bare, frontend, 0);
	for (uint32_t i = 0; i < 20; i++) {
		request = bare_request(bare, READ, i, 3, 4);
		assert_int_equal(bare_do(bare, &request), OKAY);
	}
	counters = bare_counters(bare);
	assert_int_equal(counters.grant_maps, 1 + 20 * 4);
	assert_int_equal(counters.grant_unmaps, 20 * 4);
	assert_int_equal(counters.grants_mapped, 1);
	assert_int_equal(counters.persistent_mapped, 0);
	bare_close(bare);
}

static void maps_each_without_frontend(void **state)
{
	maps_for_each_request(*state, false, true);
}

static void maps_each_without_backend(void **state)
{
	maps_for_each_request(*state, true, false);
}

static void read_only_grant_is_enough_to_write(void **state)
{
	struct bare *bare = *state;
	const struct pvf_host *host = bare->host;
	uint32_t ref;
	struct pvf_region region = {.refs = &ref, .pages = 1, .flags = PVF_SHARE_READ_ONLY};
	struct pvf_wire_blkif_request request;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	assert_int_equal(host->ops->share(host->ctx, &region), PVF_OK);
	memset(region.base, 0x42, 4096);
	request = bare_request(bare, WRITE, 8, 0, 1);
	request.seg[0].gref = ref;
	assert_int_equal(bare_do(bare, &request), OKAY);
	assert_disk(bare, 8, region.base, 4096);
	request.operation = READ;
	assert_int_equal(bare_do(bare, &request), ERROR);
	assert_int_equal(host->ops->unshare(host->ctx, &region), PVF_UNSHARE_RELEASED);
	bare_close(bare);
}

/* ---- events and counters ---- */

#define SEGMENTS (32 + 31) /* 1 + i % 3 for each of 32 */

static void counts_what_it_saw(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	struct pvf_wire_blkif_response response;
	struct pvf_sim_vbd_counters counters;
	uint32_t notified = 0;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	bare_await_idle(bare);
	for (uint32_t i = 0; i < 32; i++) {
		request = bare_request(bare, i % 2 ? READ : WRITE, i, 0, 1 + i % 3);
		bare_put(bare, &request);
	}
	/* One event, with the last of them. */
	pvf_store32(&bare->ring->rsp_event, bare->rsp_cons + 32);
	notified += bare_push(bare);
	bare_await_idle(bare);
	counters = bare_counters(bare);
	assert_int_equal(counters.events, 1);
	assert_int_equal(counters.notifications, 1);
	for (uint32_t i = 0; i < 32; i++) {
		assert_true(bare_take(bare, &response, 5000));
		assert_int_equal(response.status, OKAY);
	}
	request = bare_request(bare, FLUSH, 0, 0, 0);
	bare_put(bare, &request);
	/* Before the backend can answer: an event that is asked for later may not come. */
	pvf_store32(&bare->ring->rsp_event, bare->rsp_cons + 1);
	notified += bare_push(bare);
	assert_int_equal(notified, 2);
	assert_true(bare_take(bare, &response, 5000));
	bare_await_idle(bare);
	counters = bare_counters(bare);
	assert_int_equal(counters.reads, 16);
	assert_int_equal(counters.writes, 16);
	assert_int_equal(counters.flushes, 1);
	assert_int_equal(counters.segments, SEGMENTS);
	assert_int_equal(counters.bytes_read + counters.bytes_written, SEGMENTS * 4096);
	assert_int_equal(counters.refused, 0);
	assert_int_equal(counters.events, 2);
	assert_int_equal(counters.notifications, 2);
	if (!bare->stepped)
		assert_true(counters.cpu_ns > 0);
	bare_close(bare);
}

static void arms_after_draining(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0xfffffffeu);
	for (uint32_t i = 0; i < 8; i++) {
		bare_await_idle(bare);
		request = bare_request(bare, READ, i, 0, 1);
		assert_int_equal(bare_do(bare, &request), OKAY);
	}
	bare_close(bare);
}

/* ---- the toolstack ---- */

static void killed_and_restarted(void **state)
{
	struct bare *bare = *state;
	struct pvf_wire_blkif_request request;
	struct pvf_wire_blkif_response response;

	bare_attach(bare, (struct pvf_sim_vbd_options){.backend_persistent = true});
	bare_connect(bare, true, 0);
	request = bare_request(bare, READ, 1, 0, 2);
	assert_int_equal(bare_do(bare, &request), OKAY);
	pvf_sim_vbd_kill_backend(bare->vbd);
	assert_key(bare, "state", "4");
	assert_int_equal(bare_counters(bare).grants_mapped, 0);
	assert_int_equal(bare_counters(bare).reads, 1);
	bare_put(bare, &request);
	(void)bare_push(bare);
	assert_false(bare_take(bare, &response, 20));
	assert_int_equal(pvf_sim_vbd_restart_backend(bare->vbd), PVF_OK);
	assert_true(bare_backend_reaches(bare, PVF_STATE_INIT_WAIT, 5000));
	/* The old ring stays unserved until the frontend has moved. */
	bare_rest(bare);
	assert_key(bare, "state", "2");
	assert_int_equal(bare_release(bare), PVF_UNSHARE_RELEASED);
	bare_state(bare, PVF_STATE_INITIALISING);
	bare_connect(bare, true, 0);
	request = bare_request(bare, READ, 1, 0, 2);
	assert_int_equal(bare_do(bare, &request), OKAY);
	assert_int_equal(bare_counters(bare).reads, 2);
	bare_close(bare);
}

static void frontend_directory_gone(void **state)
{
	struct bare *bare = *state;

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	bare_connect(bare, false, 0);
	assert_int_equal(pvf_sim_store_remove(bare->sim, "/local/domain/1/device/vbd/51712"), PVF_OK);
	bare_await(bare, bare_counters(bare).grants_mapped == 0);
}

static void attach_refuses(void **state)
{
	struct bare *bare = *state;
	static const char *const no_equals[] = {"sectors"};
	const struct pvf_sim_vbd_options good = {.size = sizeof(good), .frontend_domid = 1, .disk = &bare->disk};
	struct pvf_sim_vbd_options bad[8];
	struct pvf_sim_vbd *vbd;

	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].sector_size = 500;
	bad[1].sector_size = 256;
	bad[2].physical_sector_size = 1536;
	bad[3].fault = "no-such-fault";
	bad[4].fault = "die@x";
	bad[5].frontend_domid = 77;
	bad[6].backend_keys = no_equals;
	bad[6].nr_backend_keys = 1;
	bad[7].disk = NULL;
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(pvf_sim_vbd_attach(bare->sim, &bad[i], &vbd), PVF_INVALID);
		assert_null(vbd);
	}
	bad[0].sector_size = 1u << 22;
	assert_int_equal(pvf_sim_vbd_attach(bare->sim, &bad[0], &vbd), PVF_ALIGN);
	bare_attach(bare, good);
	assert_int_equal(pvf_sim_vbd_attach(bare->sim, &good, &vbd), PVF_BUSY);
	assert_string_equal(pvf_sim_vbd_path(bare->vbd), "device/vbd/51712");
	assert_string_equal(pvf_sim_vbd_backend_path(bare->vbd), "/local/domain/0/backend/vbd/1/51712");
}

static void frontend_rights(void **state)
{
	struct bare *bare = *state;
	struct pvf_store_op op = {.verb = PVF_STORE_WRITE, .value = "1", .length = 1};
	char path[160];

	bare_attach(bare, (struct pvf_sim_vbd_options){0});
	snprintf(path, sizeof(path), "%s/sectors", pvf_sim_vbd_backend_path(bare->vbd));
	op.path = path;
	assert_int_equal(bare->host->ops->store(bare->host->ctx, &op, 1, 0, PVF_FOREVER), PVF_STORE_DENIED);
	assert_key(bare, "sectors", NULL);
	bare_write(bare, "my-key", "1");
}

#define BOTH(function, rows, sentence) \
	PVF_TEST_WITH(function, bare_threaded, bare_teardown, rows, "sim", sentence), \
		PVF_TEST_WITH(function, bare_stepped, bare_teardown, rows, "sim-stepped", sentence)

static const struct pvf_test tests[] = {
	BOTH(announces_then_publishes, "X04",
	     "the reference backend shows the disk only when the frontend has published"),
	BOTH(read_only_disk, "V01", "the reference backend announces a read-only disk and refuses writes to it"),
	BOTH(reopens_and_ends, "X04",
	     "the reference backend opens again after Closed, and ends when it is taken offline"),
	BOTH(refuses_bad_frontend_keys, "X06", "the reference backend closes on each bad key of a frontend"),
	BOTH(refuses_impossible_indices, "V32",
	     "the reference backend does not attach to a ring with impossible indices"),
	BOTH(overrides_keys, "X06", "any backend key can be set, removed or made garbage when the device is attached"),
	BOTH(leaves_keys_alone, "X06", "keys changed from outside stay as they were made"),
	BOTH(moves_data_persistent, "V01",
	     "the reference backend moves data with persistent grants, from index 0xfffffff0"),
	BOTH(moves_data_mapping_each, "V01",
	     "the reference backend moves data mapping each page, from index 0xfffffff0"),
	BOTH(refuses_bad_requests, "V01", "the reference backend refuses each malformed request, and touches nothing"),
	BOTH(aligns_to_large_sectors, "V01", "the reference backend holds requests to its sector size"),
	BOTH(stops_at_an_overrun, "V01", "the reference backend stops when the frontend overruns the ring"),
	BOTH(keeps_mappings, "V01", "a persistent page is mapped once and let go at close"),
	BOTH(maps_each_without_frontend, "V01",
	     "a frontend without feature-persistent has pages mapped for each request"),
	BOTH(maps_each_without_backend, "V01", "a backend without feature-persistent maps pages for each request"),
	BOTH(read_only_grant_is_enough_to_write, "V01", "a page granted read-only can be written from, not read into"),
	BOTH(counts_what_it_saw, "V30", "the reference backend counts requests, segments, events and notifications"),
	BOTH(arms_after_draining, "V31", "the reference backend asks for an event whenever it has drained the ring"),
	BOTH(killed_and_restarted, "V22", "a killed backend says nothing; a new one waits for the frontend to move"),
	BOTH(frontend_directory_gone, "V22",
	     "the reference backend lets go of everything when the frontend's directory goes"),
	BOTH(attach_refuses, "X06", "a vbd with impossible options is not attached"),
	BOTH(frontend_rights, "X06", "a frontend cannot write the backend's keys"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
