/* SPDX-License-Identifier: MIT */
/*
 * The library measured is the library as it is: it opens and connects through this host. Behind the host stands a backend
 * directory with fixed values whose state follows the frontend's at once, so that nothing but the data path is left to
 * measure. One thread: whatever the frontend waits for has happened before its call returned.
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench_host.h"

#define HOME "/local/domain/1/"
#define BACKEND "/local/domain/0/backend/vbd/1/51712"
#define NODES 96u
#define PATH_ROOM 160u
#define VALUE_ROOM 160u
#define WATCHES 8u
#define REGIONS 1024u
#define FIRST_REF 8u

struct node {
	char path[PATH_ROOM];
	char value[VALUE_ROOM];
	uint32_t length;
	bool used;
};

struct watch {
	char path[PATH_ROOM];
	struct pvf_event *event;
};

struct bench_host {
	struct pvf_host host;
	struct pvf_host_ops ops;
	struct pvf_parking parking;
	struct bench_channel channel;
	struct bench_host_calls calls;
	struct node nodes[NODES];
	struct watch watches[WATCHES];
	struct pvf_region *regions[REGIONS]; /* shared now */
	uint32_t next_ref;
	uint32_t next_port;
};

/* sectors is large enough for any number of requests: the benchmark never writes at the same place twice. */
static const struct {
	const char *path, *value;
} first_nodes[] = {
	{"domid", "1"},
	{BENCH_VBD_PATH "/backend", BACKEND},
	{BENCH_VBD_PATH "/backend-id", "0"},
	{BENCH_VBD_PATH "/virtual-device", "51712"},
	{BENCH_VBD_PATH "/device-type", "disk"},
	{BENCH_VBD_PATH "/state", "1"},
	{BACKEND "/frontend", HOME BENCH_VBD_PATH},
	{BACKEND "/frontend-id", "1"},
	{BACKEND "/online", "1"},
	{BACKEND "/mode", "w"},
	{BACKEND "/device-type", "disk"},
	{BACKEND "/sectors", "8796093022208"},
	{BACKEND "/sector-size", "512"},
	{BACKEND "/physical-sector-size", "512"},
	{BACKEND "/info", "0"},
	{BACKEND "/feature-persistent", "1"},
	{BACKEND "/feature-flush-cache", "1"},
	{BACKEND "/state", "2"},
};

/* The backend's next state for each state that the frontend writes; 0: stays. */
static const char backend_answer[] = {
	[PVF_STATE_INITIALISING] = '2', [PVF_STATE_INITIALISED] = '4', [PVF_STATE_CONNECTED] = '4',
	[PVF_STATE_CLOSING] = '5',      [PVF_STATE_CLOSED] = '6',
};

/* ---- nodes ---- */

/* The domain's own nodes are kept under their relative paths. */
static const char *own(const char *path)
{
	return strncmp(path, HOME, strlen(HOME)) ? path : path + strlen(HOME);
}

static struct node *find(struct bench_host *host, const char *path)
{
	for (uint32_t i = 0; i < NODES; i++)
		if (host->nodes[i].used && !strcmp(host->nodes[i].path, path))
			return &host->nodes[i];
	return NULL;
}

static void fire(struct bench_host *host, const char *path)
{
	for (uint32_t i = 0; i < WATCHES; i++)
		if (host->watches[i].event && !strncmp(path, host->watches[i].path, strlen(host->watches[i].path)))
			pvf_event(host->watches[i].event);
}

static void put(struct bench_host *host, const char *path, const void *value, uint32_t length)
{
	struct node *node = find(host, path);

	for (uint32_t i = 0; !node && i < NODES; i++)
		if (!host->nodes[i].used)
			node = &host->nodes[i];
	if (!node || length > VALUE_ROOM || strlen(path) >= PATH_ROOM)
		bench_fail("the benchmark's store has no room for", path);
	memcpy(node->path, path, strlen(path) + 1);
	memcpy(node->value, value, length);
	node->length = length;
	node->used = true;
	fire(host, path);
}

static void write_node(struct bench_host *host, const char *path, const void *value, uint32_t length)
{
	put(host, path, value, length);
	if (strcmp(path, BENCH_VBD_PATH "/state") != 0 || length != 1)
		return;
	uint32_t state = (uint32_t)(*(const char *)value - '0');
	if (state < sizeof(backend_answer) && backend_answer[state])
		put(host, BACKEND "/state", &backend_answer[state], 1);
}

static bool is_below(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return !strncmp(path, directory, length) && path[length] == '/';
}

/* A directory is a node too, with an empty value. */
static int read_node(struct bench_host *host, const char *path, struct pvf_store_op *op)
{
	struct node *node = find(host, path);

	op->length = node ? node->length : 0;
	if (node)
		memcpy(op->value, node->value, node->length < op->capacity ? node->length : op->capacity);
	for (uint32_t i = 0; !node && i < NODES; i++)
		if (host->nodes[i].used && is_below(host->nodes[i].path, path))
			return PVF_OK;
	return node ? PVF_OK : PVF_STORE_NOT_FOUND;
}

/* Removes the node and those below it; what is not there is removed already. */
static void remove_node(struct bench_host *host, const char *path)
{
	for (uint32_t i = 0; i < NODES; i++) {
		struct node *node = &host->nodes[i];

		if (node->used && (!strcmp(node->path, path) || is_below(node->path, path))) {
			node->used = false;
			fire(host, node->path);
		}
	}
}

static int store(void *ctx, struct pvf_store_op *ops, uint32_t n, uint32_t flags, uint64_t deadline)
{
	struct bench_host *host = ctx;

	(void)flags;
	(void)deadline;
	host->calls.other++;
	for (uint32_t i = 0; i < n; i++) {
		const char *path = own(ops[i].path);

		ops[i].status = PVF_OK;
		switch (ops[i].verb) {
		case PVF_STORE_READ:
			ops[i].status = read_node(host, path, &ops[i]);
			break;
		case PVF_STORE_WRITE:
			write_node(host, path, ops[i].value, ops[i].length);
			break;
		case PVF_STORE_REMOVE:
			remove_node(host, path);
			break;
		default:
			bench_fail("the benchmark's store is not made to list", path);
		}
	}
	return PVF_OK;
}

static int watch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	struct bench_host *host = ctx;

	(void)deadline;
	host->calls.other++;
	for (uint32_t i = 0; i < WATCHES; i++) {
		if (host->watches[i].event)
			continue;
		snprintf(host->watches[i].path, PATH_ROOM, "%s", own(path));
		host->watches[i].event = event;
		pvf_event(event);
		return PVF_OK;
	}
	return PVF_STORE_QUOTA;
}

static void unwatch(void *ctx, const char *path, struct pvf_event *event, uint64_t deadline)
{
	struct bench_host *host = ctx;

	(void)deadline;
	host->calls.other++;
	for (uint32_t i = 0; i < WATCHES; i++)
		if (host->watches[i].event == event && !strcmp(host->watches[i].path, own(path)))
			host->watches[i].event = NULL;
}

/* ---- memory and grants ---- */

static void *allocate(size_t bytes)
{
	size_t room = (bytes + PVF_PAGE_SIZE - 1) & ~(size_t)(PVF_PAGE_SIZE - 1);
	void *memory = bytes >= PVF_PAGE_SIZE ? aligned_alloc(PVF_PAGE_SIZE, room) : calloc(1, bytes);

	return memory && bytes >= PVF_PAGE_SIZE ? memset(memory, 0, room) : memory;
}

static void *host_alloc(void *ctx, size_t bytes)
{
	((struct bench_host *)ctx)->calls.other++;
	return allocate(bytes);
}

static void host_free(void *ctx, void *memory, size_t bytes)
{
	(void)bytes;
	((struct bench_host *)ctx)->calls.other++;
	free(memory);
}

static int share(void *ctx, struct pvf_region *region)
{
	struct bench_host *host = ctx;
	uint32_t slot = 0;

	host->calls.grants++;
	while (slot < REGIONS && host->regions[slot])
		slot++;
	if (slot == REGIONS)
		return PVF_NO_SPACE;
	if (!region->base)
		region->base = allocate((size_t)region->pages << PVF_PAGE_SHIFT);
	if (!region->base)
		return PVF_NO_MEMORY;
	for (uint32_t i = 0; i < region->pages; i++)
		region->refs[i] = host->next_ref++;
	region->handle = slot;
	host->regions[slot] = region;
	return PVF_OK;
}

static int unshare(void *ctx, struct pvf_region *region)
{
	struct bench_host *host = ctx;

	host->calls.grants++;
	host->regions[region->handle] = NULL;
	free(region->base);
	region->base = NULL;
	return PVF_UNSHARE_RELEASED;
}

static void forget(void *ctx, struct pvf_region *region)
{
	(void)unshare(ctx, region);
}

static uint32_t share_limit(void *ctx)
{
	(void)ctx;
	return 0;
}

static int grant_frame(void *ctx, uint16_t domid, uint64_t frame, bool read_only, uint32_t *ref)
{
	struct bench_host *host = ctx;

	(void)domid;
	(void)frame;
	(void)read_only;
	host->calls.grants++;
	*ref = host->next_ref++;
	return PVF_OK;
}

static int revoke_frame(void *ctx, uint32_t ref)
{
	(void)ref;
	((struct bench_host *)ctx)->calls.grants++;
	return PVF_REVOKE_ENDED;
}

/* ---- events, time ---- */

static int evtchn_alloc(void *ctx, uint16_t domid, struct pvf_event *event, uint32_t *port)
{
	struct bench_host *host = ctx;

	(void)domid;
	(void)event; /* the backend's notifications only count: whoever measures reaps by itself */
	host->calls.other++;
	*port = host->next_port++;
	return PVF_OK;
}

static void evtchn_close(void *ctx, uint32_t port)
{
	(void)port;
	((struct bench_host *)ctx)->calls.other++;
}

static void evtchn_notify(void *ctx, uint32_t port)
{
	(void)port;
	((struct bench_host *)ctx)->channel.notifications++;
}

/* Nothing happens while the only thread sleeps. */
static int host_wait(void *ctx, struct pvf_event *event, uint32_t sequence, uint64_t deadline)
{
	(void)deadline;
	((struct bench_host *)ctx)->calls.other++;
	return pvf_event_sequence(event) != sequence ? PVF_OK : PVF_TIMEOUT;
}

static uint64_t host_now(void *ctx)
{
	(void)ctx;
	return bench_now();
}

static void fence(void *ctx)
{
	(void)ctx;
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

static bool have_fence(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

/* ---- the host ---- */

static const struct pvf_host_ops host_ops = {
	.size = sizeof(struct pvf_host_ops),
	.caps = PVF_HOST_CAN_RELEASE,
	.alloc = host_alloc,
	.free = host_free,
	.share = share,
	.unshare = unshare,
	.forget = forget,
	.share_limit = share_limit,
	.grant_frame = grant_frame,
	.revoke_frame = revoke_frame,
	.evtchn_alloc = evtchn_alloc,
	.evtchn_close = evtchn_close,
	.evtchn_notify = evtchn_notify,
	.wait = host_wait,
	.store = store,
	.watch = watch,
	.unwatch = unwatch,
	.now = host_now,
	.fence = fence,
};

struct bench_host *bench_host_create(void)
{
	struct bench_host *host = aligned_alloc(_Alignof(struct bench_host), sizeof(*host));

	if (!host)
		bench_fail("no memory", "for the benchmark's host");
	memset(host, 0, sizeof(*host));
	host->ops = host_ops;
	if (!have_fence())
		host->ops.fence = NULL;
	host->host = (struct pvf_host){.ops = &host->ops, .ctx = host, .parking = &host->parking};
	host->next_ref = FIRST_REF;
	host->next_port = 1;
	for (size_t i = 0; i < sizeof(first_nodes) / sizeof(first_nodes[0]); i++)
		put(host, first_nodes[i].path, first_nodes[i].value, (uint32_t)strlen(first_nodes[i].value));
	return host;
}

void bench_host_destroy(struct bench_host *host)
{
	free(host);
}

const struct pvf_host *bench_host_table(struct bench_host *host)
{
	return &host->host;
}

struct bench_channel *bench_host_channel(struct bench_host *host)
{
	return &host->channel;
}

struct bench_ring *bench_host_ring(struct bench_host *host)
{
	struct node *node = find(host, BENCH_VBD_PATH "/ring-ref");
	uint32_t ref = 0;

	if (!node)
		return NULL;
	for (uint32_t i = 0; i < node->length; i++)
		ref = ref * 10 + (uint32_t)(node->value[i] - '0');
	for (uint32_t i = 0; i < REGIONS; i++) {
		struct pvf_region *region = host->regions[i];

		for (uint32_t page = 0; region && page < region->pages; page++)
			if (region->refs[page] == ref)
				return (void *)((uint8_t *)region->base + ((size_t)page << PVF_PAGE_SHIFT));
	}
	return NULL;
}

void bench_host_calls(const struct bench_host *host, struct bench_host_calls *calls)
{
	*calls = host->calls;
}
