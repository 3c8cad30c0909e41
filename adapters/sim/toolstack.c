/* SPDX-License-Identifier: MIT */
/*
 * What a toolstack does for a vbd: both halves' nodes, with the permissions of Xen's libxl_device.c (each directory is
 * owned by its domain and readable by the other), and the backend's life.
 */
#include "sim_internal.h"
#include "vbd_back.h"
#include "bytes.h"
#include "vbd_text.h"

#include <pvfront/compiler.h>

#define DEFAULT_DEVICE 51712u /* xvda */
#define LOCAL_PATH 64u
#define CLEANUP_DEADLINE_NS 5000000000u
/* Calls of work() between two looks at the thread's clock while it never rests. */
#define CPU_CALLS 256u

struct pvf_sim_vbd {
	struct pvf_sim *sim;
	struct pvf_sim_vbd_options options; /* a copy; the strings of backend_keys are copied too */
	uint32_t options_bytes;             /* of those copies */
	char **keys;
	struct vbd_control control;
	struct pvf_sim_backend backend;
	const struct pvf_sim_backend_ops *ops;
	void *config;
	void *state; /* of the backend; NULL: not running */
	struct sim_actor actor;
	struct pvf_sim_vbd_counters past; /* of backends that have ended */
	bool rested;
	uint32_t calls;
	uint64_t cpu_start;
	struct vbd_snapshot cpu;
	char local[LOCAL_PATH]; /* the frontend's path as its domain sees it */
	char frontend[VBD_PATH];
	char path[VBD_PATH];
};

/* ---- paths ---- */

static void make_path(char *path, uint32_t room, const char *const *words, const uint64_t *numbers, uint32_t n)
{
	struct vbd_text text;

	vbd_text_start(&text, path, room);
	for (uint32_t i = 0; i < n; i++) {
		vbd_text_add(&text, words[i]);
		vbd_text_number(&text, numbers[i]);
	}
}

static void make_paths(struct pvf_sim_vbd *vbd)
{
	const struct pvf_sim_vbd_options *options = &vbd->options;
	const char *const local[] = {"device/vbd/"};
	const char *const frontend[] = {"/local/domain/", "/device/vbd/"};
	const char *const backend[] = {"/local/domain/", "/backend/vbd/", "/"};

	make_path(vbd->local, LOCAL_PATH, local, (const uint64_t[]){options->virtual_device}, 1);
	make_path(vbd->frontend, VBD_PATH, frontend,
		  (const uint64_t[]){options->frontend_domid, options->virtual_device}, 2);
	make_path(vbd->path, VBD_PATH, backend,
		  (const uint64_t[]){options->backend_domid, options->frontend_domid, options->virtual_device}, 3);
}

/* ---- nodes ---- */

static int make_node(struct pvf_sim_vbd *vbd, bool frontend, const char *name, const void *value, uint32_t length)
{
	const struct pvf_sim_vbd_options *options = &vbd->options;
	char path[2 * VBD_PATH];
	struct vbd_text text;

	vbd_text_start(&text, path, sizeof(path));
	vbd_text_add(&text, frontend ? vbd->frontend : vbd->path);
	if (*name) {
		vbd_text_add(&text, "/");
		vbd_text_add(&text, name);
	}
	if (text.cut)
		return PVF_STORE_TOO_BIG;
	return frontend ? sim_store_create(vbd->sim, path, value, length, options->frontend_domid,
					   options->backend_domid)
			: sim_store_create(vbd->sim, path, value, length, options->backend_domid,
					   options->frontend_domid);
}

struct node {
	const char *name;
	const char *value;
};

static int make_nodes(struct pvf_sim_vbd *vbd, bool frontend, const struct node *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *value = nodes[i].value;
		uint32_t length = vbd_text_length(value);
		int status;

		if (!frontend && *nodes[i].name && vbd_key_override(&vbd->options, nodes[i].name, &value, &length) &&
		    !length)
			continue;
		status = make_node(vbd, frontend, nodes[i].name, value, length);
		if (status < 0)
			return status;
	}
	return PVF_OK;
}

#define NR(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

static int make_frontend(struct pvf_sim_vbd *vbd)
{
	char domid[8], device[16];
	const struct node nodes[] = {
		{"", ""},
		{"backend", vbd->path},
		{"backend-id", domid},
		{"virtual-device", device},
		{"device-type", "disk"},
		{"state", "1"},
	};

	make_path(domid, sizeof(domid), (const char *const[]){""}, (const uint64_t[]){vbd->options.backend_domid}, 1);
	make_path(device, sizeof(device), (const char *const[]){""}, (const uint64_t[]){vbd->options.virtual_device},
		  1);
	return make_nodes(vbd, true, nodes, NR(nodes));
}

static int make_backend(struct pvf_sim_vbd *vbd)
{
	const struct pvf_sim_vbd_options *options = &vbd->options;
	bool read_only = options->disk && options->disk->read_only;
	char domid[8];
	const struct node nodes[] = {
		{"", ""},
		{"frontend", vbd->frontend},
		{"frontend-id", domid},
		{"online", "1"},
		{"removable", "0"},
		{"bootable", "1"},
		{"dev", "xvda"},
		{"type", "phy"},
		{"mode", read_only ? "r" : "w"},
		{"device-type", "disk"},
		{"state", "1"},
	};
	int status;

	make_path(domid, sizeof(domid), (const char *const[]){""}, (const uint64_t[]){options->frontend_domid}, 1);
	status = make_nodes(vbd, false, nodes, NR(nodes));
	/* Keys of the caller's that no table above knows. */
	for (uint32_t i = 0; i < options->nr_backend_keys && status == PVF_OK; i++) {
		const char *text = options->backend_keys[i], *value = text;
		char name[VBD_PATH];
		uint32_t length = 0;

		while (text[length] != '=')
			length++;
		memcpy(name, text, length);
		name[length] = '\0';
		if (vbd_key_override(options, name, &value, &length) && length)
			status = make_node(vbd, false, name, value, length);
	}
	return status;
}

/* Removes a directory, then the directories above it that are empty now (libxl: libxl__xs_path_cleanup). */
static void clean_up(struct pvf_sim_vbd *vbd, const char *path, uint32_t parents)
{
	struct pvf_sim_domain *domain = pvf_sim_domain_find(vbd->sim, 0);
	const struct pvf_host *host = domain ? pvf_sim_domain_host(domain) : NULL;
	char parent[VBD_PATH], names[8];
	struct vbd_text text;

	(void)pvf_sim_store_remove(vbd->sim, path);
	vbd_text_start(&text, parent, sizeof(parent));
	vbd_text_add(&text, path);
	for (uint32_t i = 0; host && i < parents; i++) {
		struct pvf_store_op list = {
			.verb = PVF_STORE_LIST,
			.path = parent,
			.value = names,
			.capacity = sizeof(names),
		};

		while (text.length && parent[text.length] != '/')
			text.length--;
		parent[text.length] = '\0';
		(void)host->ops->store(host->ctx, &list, 1, 0, host->ops->now(host->ctx) + CLEANUP_DEADLINE_NS);
		if (list.status != PVF_OK || list.length)
			return;
		(void)pvf_sim_store_remove(vbd->sim, parent);
	}
}

static void remove_nodes(struct pvf_sim_vbd *vbd)
{
	const struct pvf_sim_vbd_options *options = &vbd->options;
	const char *const words[] = {"/local/domain/", "/error/backend/vbd/", "/"};
	const uint64_t numbers[] = {options->backend_domid, options->frontend_domid, options->virtual_device};
	char error[VBD_PATH];

	make_path(error, sizeof(error), words, numbers, 3);
	clean_up(vbd, vbd->frontend, 2);
	clean_up(vbd, vbd->path, 3);
	clean_up(vbd, error, 4);
}

/* ---- the backend's life ---- */

/* The CPU time of the thread since the backend's first step, looked at when the thread comes to rest: not on a path that
 * anybody waits for. */
static void account_cpu(struct pvf_sim_vbd *vbd)
{
	uint64_t used = sim_thread_cpu(vbd->sim) - vbd->cpu_start;

	vbd->calls = 0;
	vbd_snapshot_publish(&vbd->cpu, &used, sizeof(used));
}

static bool work(void *arg)
{
	struct pvf_sim_vbd *vbd = arg;
	bool busy;

	if (!vbd->cpu_start)
		vbd->cpu_start = sim_thread_cpu(vbd->sim);
	busy = vbd->ops->work(vbd->state);
	vbd->calls++;
	if ((!busy && !vbd->rested) || vbd->calls >= CPU_CALLS)
		account_cpu(vbd);
	vbd->rested = !busy;
	return busy;
}

static int start(struct pvf_sim_vbd *vbd)
{
	struct pvf_sim_domain *domain = pvf_sim_domain_find(vbd->sim, vbd->options.backend_domid);
	int status;

	if (!domain)
		return PVF_INVALID;
	vbd->backend = (struct pvf_sim_backend){
		.sim = vbd->sim,
		.domain = domain,
		.host = pvf_sim_domain_host(domain),
		.frontend_domid = vbd->options.frontend_domid,
		.path = vbd->path,
		.frontend_path = vbd->frontend,
		.options = &vbd->options,
	};
	vbd->cpu_start = 0;
	vbd->rested = false;
	status = vbd->ops->create(&vbd->backend, vbd->config, &vbd->state);
	if (status < 0) {
		vbd->state = NULL;
		return status;
	}
	vbd->actor = (struct sim_actor){
		.work = work,
		.arg = vbd,
		.prompt = vbd_fault_is_early(vbd->control.fault),
	};
	status = sim_actor_add(domain, &vbd->actor);
	if (status < 0) {
		vbd->ops->destroy(vbd->state, true);
		vbd->state = NULL;
		return status;
	}
	sim_domain_wake(domain);
	return PVF_OK;
}

static void add_counters(struct pvf_sim_vbd_counters *sum, const struct pvf_sim_vbd_counters *more)
{
	sum->reads += more->reads;
	sum->writes += more->writes;
	sum->flushes += more->flushes;
	sum->other += more->other;
	sum->segments += more->segments;
	sum->bytes_read += more->bytes_read;
	sum->bytes_written += more->bytes_written;
	sum->refused += more->refused;
	sum->events += more->events;
	sum->notifications += more->notifications;
	sum->grant_maps += more->grant_maps;
	sum->grant_unmaps += more->grant_unmaps;
	sum->cpu_ns += more->cpu_ns;
}

static void read_counters(const struct pvf_sim_vbd *vbd, struct pvf_sim_vbd_counters *counters)
{
	uint64_t cpu;

	memset(counters, 0, sizeof(*counters));
	if (vbd->ops->counters)
		vbd->ops->counters(vbd->state, counters);
	vbd_snapshot_read(&vbd->cpu, &cpu, sizeof(cpu));
	counters->cpu_ns = cpu;
}

static void stop(struct pvf_sim_vbd *vbd, bool killed)
{
	struct pvf_sim_vbd_counters last;
	uint64_t none = 0;

	if (!vbd->state)
		return;
	sim_actor_remove(vbd->backend.domain, &vbd->actor);
	read_counters(vbd, &last);
	/* A backend that ends has unmapped what it had mapped. */
	last.grant_unmaps += last.grants_mapped;
	add_counters(&vbd->past, &last);
	vbd_snapshot_publish(&vbd->cpu, &none, sizeof(none));
	vbd->ops->destroy(vbd->state, killed);
	vbd->state = NULL;
}

/* ---- attach and detach ---- */

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int check(struct pvf_sim *sim, const struct pvf_sim_vbd_options *options)
{
	uint32_t sector_size = options->sector_size ? options->sector_size : PVF_WIRE_BLKIF_SECTOR;
	uint32_t physical = options->physical_sector_size ? options->physical_sector_size : sector_size;

	if (options->size != sizeof(*options) || !power_of_two(sector_size) || sector_size < PVF_WIRE_BLKIF_SECTOR)
		return PVF_INVALID;
	if (!power_of_two(physical) || physical < sector_size)
		return PVF_INVALID;
	if (!pvf_sim_domain_find(sim, options->frontend_domid) || !pvf_sim_domain_find(sim, options->backend_domid))
		return PVF_INVALID;
	if (!options->backend && !options->disk)
		return PVF_INVALID;
	if (options->disk && (options->disk->bytes & (sector_size - 1)))
		return PVF_ALIGN;
	for (uint32_t i = 0; i < options->nr_backend_keys; i++) {
		const char *text = options->backend_keys[i];
		uint32_t name = 0;

		while (text[name] && text[name] != '=')
			name++;
		if (!text[name] || !name || name >= VBD_PATH)
			return PVF_INVALID;
	}
	return PVF_OK;
}

/* The strings may be on the caller's stack; the backend uses them for as long as it lives. */
static int copy_options(struct pvf_sim_vbd *vbd, const struct pvf_sim_vbd_options *options)
{
	uint32_t bytes = options->nr_backend_keys * (uint32_t)sizeof(char *);
	char *strings;

	vbd->options = *options;
	if (!vbd->options.virtual_device)
		vbd->options.virtual_device = DEFAULT_DEVICE;
	if (!vbd->options.sector_size)
		vbd->options.sector_size = PVF_WIRE_BLKIF_SECTOR;
	if (!vbd->options.physical_sector_size)
		vbd->options.physical_sector_size = vbd->options.sector_size;
	if (!bytes)
		return PVF_OK;
	for (uint32_t i = 0; i < options->nr_backend_keys; i++)
		bytes += vbd_text_length(options->backend_keys[i]) + 1;
	vbd->keys = sim_alloc(vbd->sim, bytes);
	if (!vbd->keys)
		return PVF_NO_MEMORY;
	vbd->options_bytes = bytes;
	strings = (char *)(vbd->keys + options->nr_backend_keys);
	for (uint32_t i = 0; i < options->nr_backend_keys; i++) {
		uint32_t length = vbd_text_length(options->backend_keys[i]) + 1;

		memcpy(strings, options->backend_keys[i], length);
		vbd->keys[i] = strings;
		strings += length;
	}
	vbd->options.backend_keys = (const char *const *)vbd->keys;
	return PVF_OK;
}

static void free_vbd(struct pvf_sim_vbd *vbd)
{
	if (vbd->keys)
		sim_free(vbd->sim, vbd->keys, vbd->options_bytes);
	sim_free(vbd->sim, vbd, sizeof(*vbd));
}

static int build(struct pvf_sim_vbd *vbd)
{
	uint32_t length;
	int status;

	make_paths(vbd);
	if (pvf_sim_store_read(vbd->sim, vbd->frontend, NULL, 0, &length) != PVF_STORE_NOT_FOUND)
		return PVF_BUSY;
	status = make_frontend(vbd);
	if (status == PVF_OK)
		status = make_backend(vbd);
	if (status == PVF_OK)
		status = start(vbd);
	if (status != PVF_OK)
		remove_nodes(vbd);
	return status;
}

int pvf_sim_vbd_attach(struct pvf_sim *sim, const struct pvf_sim_vbd_options *options, struct pvf_sim_vbd **result)
{
	struct pvf_sim_vbd *vbd;
	uint32_t fault, at;
	int status = check(sim, options);

	*result = NULL;
	if (status != PVF_OK)
		return status;
	if (!vbd_fault_parse(options->fault, &fault, &at))
		return PVF_INVALID;
	vbd = sim_alloc(sim, sizeof(*vbd));
	if (!vbd)
		return PVF_NO_MEMORY;
	vbd->sim = sim;
	vbd->control.fault = fault;
	vbd->control.at = at;
	vbd->ops = options->backend ? options->backend : &vbd_reference_ops;
	vbd->config = options->backend ? options->backend_config : &vbd->control;
	status = copy_options(vbd, options);
	if (status == PVF_OK)
		status = build(vbd);
	if (status != PVF_OK) {
		free_vbd(vbd);
		return status;
	}
	*result = vbd;
	return PVF_OK;
}

void pvf_sim_vbd_detach(struct pvf_sim_vbd *vbd)
{
	if (!vbd)
		return;
	stop(vbd, false);
	remove_nodes(vbd);
	free_vbd(vbd);
}

const char *pvf_sim_vbd_path(const struct pvf_sim_vbd *vbd)
{
	return vbd->local;
}

const char *pvf_sim_vbd_backend_path(const struct pvf_sim_vbd *vbd)
{
	return vbd->path;
}

void pvf_sim_vbd_kill_backend(struct pvf_sim_vbd *vbd)
{
	stop(vbd, true);
}

int pvf_sim_vbd_restart_backend(struct pvf_sim_vbd *vbd)
{
	int status;

	stop(vbd, true);
	vbd->control.restarted = true;
	/* What vanished is made again; the state tells the frontend that this is another backend. */
	status = make_backend(vbd);
	return status == PVF_OK ? start(vbd) : status;
}

int pvf_sim_vbd_fault(struct pvf_sim_vbd *vbd, const char *fault)
{
	uint32_t kind, at;

	if (!vbd_fault_parse(fault, &kind, &at))
		return PVF_INVALID;
	pvf_store32(&vbd->control.fault, kind);
	pvf_store32(&vbd->control.at, at);
	pvf_store32_release(&vbd->control.generation, pvf_load32(&vbd->control.generation) + 1);
	vbd->actor.prompt = vbd_fault_is_early(kind);
	if (vbd->state)
		sim_domain_wake(vbd->backend.domain);
	return PVF_OK;
}

void pvf_sim_vbd_counters(const struct pvf_sim_vbd *vbd, struct pvf_sim_vbd_counters *counters)
{
	struct pvf_sim_vbd_counters now;

	*counters = vbd->past;
	if (!vbd->state)
		return;
	read_counters(vbd, &now);
	add_counters(counters, &now);
	counters->grants_mapped = now.grants_mapped;
	counters->persistent_mapped = now.persistent_mapped;
}
