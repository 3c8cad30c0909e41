/* SPDX-License-Identifier: MIT */
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUEST 1u
#define DISK_BYTES (4u << 20)
#define PATIENCE_MS 30000u

/* ---- mode ---- */

static int setup(void **state, bool stepped)
{
	struct fx *fx = calloc(1, sizeof(*fx));

	if (!fx)
		return -1;
	fx->stepped = stepped;
	*state = fx;
	return 0;
}

int fx_threaded(void **state)
{
	return setup(state, false);
}

int fx_stepped(void **state)
{
	return setup(state, true);
}

int fx_teardown(void **state)
{
	free(*state);
	return 0;
}

/* ---- the machine ---- */

uint8_t fx_pattern(uint64_t at)
{
	return (uint8_t)(at * 7u + (at >> 9) * 13u + (at >> 17));
}

bool fx_is_pattern(const void *memory, uint64_t offset, uint32_t bytes)
{
	const uint8_t *p = memory;

	for (uint32_t i = 0; i < bytes; i++)
		if (p[i] != fx_pattern(offset + i))
			return false;
	return true;
}

static void fill_disk(struct fx *fx)
{
	uint8_t page[4096];

	for (uint32_t at = 0; at < fx->bytes; at += (uint32_t)sizeof(page)) {
		uint32_t bytes = fx->bytes - at < sizeof(page) ? fx->bytes - at : (uint32_t)sizeof(page);

		for (uint32_t i = 0; i < bytes; i++)
			page[i] = fx_pattern(at + i);
		assert_int_equal(fx->disk.write(fx->disk.ctx, at, page, bytes), PVF_OK);
	}
}

void fx_machine(struct fx *fx, const struct fx_options *options)
{
	struct pvf_sim_options machine = {
		.size = sizeof(machine),
		.stepped = fx->stepped,
		.seed = options->seed,
		.platform = pvf_sim_posix_platform(),
		.limits = options->limits,
	};
	struct pvf_sim_vbd_options half = {
		.size = sizeof(half),
		.frontend_domid = GUEST,
		.backend_domid = 0,
		.disk = &fx->disk,
		.sector_size = options->sector_size,
		.backend_persistent = options->persistent,
		.backend_keys = options->keys,
		.nr_backend_keys = options->nr_keys,
		.fault = options->fault,
		.backend = options->backend,
		.backend_config = options->backend_config,
	};

	fx->bytes = options->bytes ? options->bytes : DISK_BYTES;
	fx->options = options->vbd;
	if (fx->options.size == 0) {
		fx->options = PVF_VBD_OPTIONS;
		fx->options.phase_ms = FX_PHASE_MS;
	}
	assert_int_equal(pvf_sim_posix_ramdisk(fx->bytes, &fx->disk), PVF_OK);
	fill_disk(fx);
	fx->disk.read_only = options->read_only;
	assert_int_equal(pvf_sim_create(&machine, &fx->sim), PVF_OK);
	assert_int_equal(pvf_sim_domain_create(fx->sim, GUEST, &fx->guest), PVF_OK);
	fx->dom0 = pvf_sim_domain_find(fx->sim, 0);
	fx->host = pvf_sim_domain_host(fx->guest);
	fx->nodes = pvf_sim_store_count(fx->sim);
	assert_int_equal(pvf_sim_vbd_attach(fx->sim, &half, &fx->half), PVF_OK);
}

void fx_open(struct fx *fx)
{
	assert_int_equal(pvf_vbd_open(fx->host, pvf_sim_vbd_path(fx->half), &fx->options, &fx->vbd), PVF_OK);
	fx->queue = pvf_vbd_queue(fx->vbd, 0);
	assert_non_null(fx->queue);
}

void fx_connect(struct fx *fx)
{
	int status = pvf_vbd_connect(fx->vbd);

	if (status != PVF_OK)
		print_error("connect: %s: %s\n", pvf_status_name(status), pvf_vbd_error(fx->vbd));
	assert_int_equal(status, PVF_OK);
	assert_int_equal(pvf_vbd_phase(fx->vbd), PVF_PHASE_CONNECTED);
}

void fx_start(struct fx *fx, const struct fx_options *options)
{
	fx_machine(fx, options);
	fx_open(fx);
	fx_connect(fx);
}

int fx_close(struct fx *fx)
{
	int status = fx->vbd ? pvf_vbd_close(fx->vbd) : PVF_OK;

	fx->vbd = NULL;
	fx->queue = NULL;
	return status;
}

struct pvf_sim_held fx_held(struct pvf_sim_domain *domain)
{
	struct pvf_sim_held held;

	pvf_sim_held(domain, &held);
	return held;
}

void fx_nothing_held(struct fx *fx, struct pvf_sim_domain *domain)
{
	struct pvf_sim_held held = fx_held(domain);

	/* The backend's thread may be about to let go of the last of it. */
	for (uint32_t i = 0; i < 2000 && (held.maps || held.ports || held.grants_mapped || held.watches); i++) {
		fx_rest(fx);
		held = fx_held(domain);
	}
	if (held.grants || held.maps || held.ports || held.watches || held.transactions || held.pages || held.memory ||
	    held.parked)
		print_error("left in the %s's domain: grants %u (mapped %u), maps %u, ports %u, watches %u, "
			    "transactions %u, pages %u, parked %u, bytes of memory %u\n",
			    domain == fx->guest ? "frontend" : "backend", (unsigned)held.grants,
			    (unsigned)held.grants_mapped, (unsigned)held.maps, (unsigned)held.ports,
			    (unsigned)held.watches, (unsigned)held.transactions, (unsigned)held.pages,
			    (unsigned)held.parked, (unsigned)held.memory);
	assert_int_equal(held.grants, 0);
	assert_int_equal(held.grants_mapped, 0);
	assert_int_equal(held.maps, 0);
	assert_int_equal(held.ports, 0);
	assert_int_equal(held.watches, 0);
	assert_int_equal(held.transactions, 0);
	assert_int_equal(held.pages, 0);
	assert_int_equal(held.parked, 0);
	assert_int_equal(held.memory, 0);
}

void fx_destroy(struct fx *fx)
{
	bool stepped = fx->stepped;

	(void)fx_close(fx);
	pvf_sim_vbd_detach(fx->half);
	pvf_sim_destroy(fx->sim);
	fx->disk.close(fx->disk.ctx);
	memset(fx, 0, sizeof(*fx));
	fx->stepped = stepped;
}

void fx_end(struct fx *fx)
{
	int closed = fx_close(fx);

	assert_int_equal(closed, PVF_OK);
	/* The backend may still be about to see that the frontend is gone. */
	fx_rest(fx);
	fx_nothing_held(fx, fx->guest);
	pvf_sim_vbd_detach(fx->half);
	fx->half = NULL;
	fx_nothing_held(fx, fx->dom0);
	/* Reports of errors stay for people to read, as Linux leaves them; they are not the device's. */
	(void)pvf_sim_store_remove(fx->sim, "/local/domain/1/error");
	assert_int_equal(pvf_sim_store_count(fx->sim), fx->nodes);
	fx_destroy(fx);
}

/* ---- I/O ---- */

uint64_t fx_now(struct fx *fx)
{
	return fx->host->ops->now(fx->host->ctx);
}

int fx_io(struct fx *fx, uint32_t op, uint64_t sector, struct pvf_seg *segs, uint32_t nr_segs)
{
	struct pvf_vbd_io io = {.op = op, .sector = sector, .segs = segs, .nr_segs = nr_segs, .user = &io};
	struct pvf_vbd_done done = {0};
	int taken = pvf_vbd_submit(fx->queue, &io, 1);
	int n;

	if (taken != 1)
		return taken;
	(void)pvf_vbd_push(fx->queue);
	n = pvf_vbd_wait(fx->queue, &done, 1, fx_now(fx) + PATIENCE_MS * FX_MS);
	assert_int_equal(n, 1);
	assert_ptr_equal(done.user, &io);
	return done.status;
}

int fx_read(struct fx *fx, uint64_t sector, void *memory, uint32_t bytes)
{
	struct pvf_seg seg = PVF_SEG_OF(memory, bytes);

	return fx_io(fx, PVF_VBD_READ, sector, &seg, 1);
}

int fx_write(struct fx *fx, uint64_t sector, const void *memory, uint32_t bytes)
{
	/* A segment is not const, since a read fills it. */
	struct pvf_seg seg = PVF_SEG_OF((void *)(uintptr_t)memory, bytes);

	return fx_io(fx, PVF_VBD_WRITE, sector, &seg, 1);
}

int fx_flush(struct fx *fx)
{
	return fx_io(fx, PVF_VBD_FLUSH, 0, NULL, 0);
}

struct pvf_seg fx_buffer(struct fx *fx, uint32_t bytes)
{
	struct pvf_seg seg;

	assert_int_equal(pvf_vbd_buffer(fx->queue, bytes, &seg), PVF_OK);
	return seg;
}

/* ---- completions ---- */

void *fx_user(uint32_t number)
{
	return (void *)(uintptr_t)(number + 1u);
}

void fx_note(struct fx_tally *tally, const struct pvf_vbd_done *done, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uintptr_t number = (uintptr_t)done[i].user - 1u;

		assert_in_range(number, 0, FX_USERS - 1u);
		tally->count[number]++;
		tally->status[number] = done[i].status;
		tally->total++;
	}
}

void fx_drain(struct fx *fx, struct fx_tally *tally, uint32_t ms)
{
	uint64_t end = fx_now(fx) + ms * FX_MS;

	while (pvf_vbd_in_flight(fx->queue)) {
		struct pvf_vbd_done done[16];
		int n = pvf_vbd_wait(fx->queue, done, 16, end);

		if (n < 0)
			print_error("%u requests never completed: %s; %s\n", (unsigned)pvf_vbd_in_flight(fx->queue),
				    pvf_status_name(n), pvf_vbd_error(fx->vbd));
		assert_true(n >= 0);
		fx_note(tally, done, (uint32_t)n);
	}
}

void fx_each_once(const struct fx_tally *tally, uint32_t n)
{
	assert_int_equal(tally->total, n);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(tally->count[i], 1);
}

uint32_t fx_submit_reads(struct fx *fx, const struct pvf_seg *buffer, uint32_t first, uint32_t n)
{
	static struct pvf_seg segs[FX_USERS];
	uint32_t taken = 0;

	for (; taken < n; taken++) {
		struct pvf_vbd_io io = {.op = PVF_VBD_READ, .nr_segs = 1};

		segs[taken] = *buffer;
		segs[taken].offset = taken * PVF_PAGE_SIZE % (buffer->pages * PVF_PAGE_SIZE);
		segs[taken].length = PVF_PAGE_SIZE;
		io.segs = &segs[taken];
		io.sector = (uint64_t)taken * 8u;
		io.user = fx_user(first + taken);
		if (pvf_vbd_submit(fx->queue, &io, 1) != 1)
			break;
	}
	(void)pvf_vbd_push(fx->queue);
	return taken;
}

/* ---- time passes ---- */

bool fx_reaches(struct fx *fx, enum pvf_phase phase, uint32_t ms)
{
	uint64_t end = fx_now(fx) + ms * FX_MS;
	struct pvf_event *event = pvf_vbd_event(fx->vbd);

	for (;;) {
		uint32_t sequence = pvf_event_sequence(event);
		uint64_t wake = pvf_vbd_advance(fx->vbd);

		if (pvf_vbd_phase(fx->vbd) == phase)
			return true;
		if (fx_now(fx) >= end)
			return false;
		(void)fx->host->ops->wait(fx->host->ctx, event, sequence, wake < end ? wake : end);
	}
}

void fx_rest(struct fx *fx)
{
	struct pvf_event nothing = {0};

	if (fx->stepped) {
		/* A backend that polls never rests. */
		for (uint32_t steps = 0; steps < 20000u && pvf_sim_step(fx->sim); steps++)
			;
		return;
	}
	(void)fx->host->ops->wait(fx->host->ctx, &nothing, 0, fx_now(fx) + 5u * FX_MS);
}

struct pvf_sim_vbd_counters fx_counters(struct fx *fx)
{
	struct pvf_sim_vbd_counters counters;

	pvf_sim_vbd_counters(fx->half, &counters);
	return counters;
}

struct pvf_vbd_statistics fx_statistics(struct fx *fx)
{
	struct pvf_vbd_statistics statistics;

	pvf_vbd_statistics(fx->queue, &statistics, NULL);
	return statistics;
}

void fx_faults(struct fx *fx, struct pvf_sim_faults faults)
{
	pvf_sim_domain_faults(fx->guest, &faults);
}

/* ---- the store ---- */

static const char *frontend_path(struct fx *fx)
{
	static char path[128];

	snprintf(path, sizeof(path), "/local/domain/%u/%s", GUEST, pvf_sim_vbd_path(fx->half));
	return path;
}

static const char *key(struct fx *fx, const char *directory, const char *name)
{
	static char value[256];
	char path[256];
	uint32_t length = 0;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	memset(value, 0, sizeof(value));
	if (pvf_sim_store_read(fx->sim, path, value, sizeof(value) - 1, &length) != PVF_OK)
		return NULL;
	return value;
}

static void set_key(struct fx *fx, const char *directory, const char *name, const char *value)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(pvf_sim_store_write(fx->sim, path, value, (uint32_t)strlen(value)), PVF_OK);
}

const char *fx_backend_key(struct fx *fx, const char *name)
{
	return key(fx, pvf_sim_vbd_backend_path(fx->half), name);
}

const char *fx_frontend_key(struct fx *fx, const char *name)
{
	return key(fx, frontend_path(fx), name);
}

void fx_set_backend_key(struct fx *fx, const char *name, const char *value)
{
	set_key(fx, pvf_sim_vbd_backend_path(fx->half), name, value);
}

void fx_set_frontend_key(struct fx *fx, const char *name, const char *value)
{
	set_key(fx, frontend_path(fx), name, value);
}

void fx_await_backend(struct fx *fx, char state)
{
	const char *value = fx_backend_key(fx, "state");

	for (uint32_t i = 0; i < 1000 && (!value || value[0] != state); i++) {
		fx_rest(fx);
		value = fx_backend_key(fx, "state");
	}
	assert_non_null(value);
	assert_int_equal(value[0], state);
}

void fx_remove_backend(struct fx *fx, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s%s", pvf_sim_vbd_backend_path(fx->half), name[0] ? "/" : "", name);
	(void)pvf_sim_store_remove(fx->sim, path);
}

/* ---- chance ---- */

uint64_t fx_random(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint32_t fx_below(uint64_t *seed, uint32_t n)
{
	return (uint32_t)((fx_random(seed) >> 32) * n >> 32);
}

uint64_t fx_setting(const char *name, uint64_t otherwise)
{
	const char *value = getenv(name);

	return value && *value ? strtoull(value, NULL, 0) : otherwise;
}
