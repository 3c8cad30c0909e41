/* SPDX-License-Identifier: MIT */
/*
 * A simulated Xen: hypervisor (grants, event channels), xenstored, domains, and a toolstack that attaches devices.
 * Freestanding like the core; a platform table brings memory, clock and, in threaded mode, threads.
 *
 *   threaded  xenstored and each backend domain run on a thread of their own
 *   stepped   one thread; whoever waits runs the others, one step at a time, in an order drawn from a seed:
 *             the same seed gives the same run
 *
 * A domain's own program uses the struct pvf_host of pvf_sim_domain_host(). Backends: see <pvfront/sim_backend.h>.
 */
#ifndef PVFRONT_SIM_H
#define PVFRONT_SIM_H

#include <pvfront/host.h>
#include <pvfront/status.h>

struct pvf_sim;
struct pvf_sim_domain;
struct pvf_sim_vbd;
struct pvf_sim_backend_ops;

/* ---- what the machine underneath supplies ---- */

struct pvf_sim_platform {
	uint32_t size;
	uint32_t reserved;
	void *ctx;
	/* Zeroed, page-aligned when bytes >= PVF_PAGE_SIZE. Large blocks should be taken lazily (a domain's memory). */
	void *(*alloc)(void *ctx, size_t bytes);
	void (*free)(void *ctx, void *memory, size_t bytes);
	uint64_t (*now)(void *ctx); /* monotonic nanoseconds; in stepped mode the simulator keeps its own clock */
	/* CPU time of the calling thread in nanoseconds; NULL: not known. */
	uint64_t (*thread_cpu)(void *ctx);
	/*
	 * Threaded mode only, NULL otherwise. wait: sleeps while *word == value, until woken (PVF_OK) or the
	 * deadline (PVF_TIMEOUT); may wake early, with PVF_AGAIN when a signal was the reason. wake: all who sleep on it.
	 */
	int (*spawn)(void *ctx, void (*run)(void *arg), void *arg, const char *name, void **thread);
	void (*join)(void *ctx, void *thread);
	int (*wait)(void *ctx, volatile uint32_t *word, uint32_t value, uint64_t deadline);
	void (*wake)(void *ctx, volatile uint32_t *word);
	void (*fence)(void *ctx);                               /* see struct pvf_host_ops; NULL: none */
	void (*log)(void *ctx, int level, const char *message); /* enum pvf_log_level; NULL: nowhere */
};

/* A disk for the reference backend. All return PVF_OK or a negative status; any thread, one call at a time. */
struct pvf_sim_disk {
	uint32_t size;
	bool read_only;
	uint64_t bytes;
	void *ctx;
	int (*read)(void *ctx, uint64_t offset, void *data, uint32_t bytes);
	int (*write)(void *ctx, uint64_t offset, const void *data, uint32_t bytes);
	int (*flush)(void *ctx);
	void (*close)(void *ctx);
};

/* ---- the machine ---- */

struct pvf_sim_limits {
	uint32_t domain_pages;       /* memory of each domain; 0: 16384 (64 MiB) */
	uint32_t grant_frames;       /* 0: 64, that is 32768 references */
	uint32_t ports;              /* event channels of a domain; 0: 4096 */
	uint32_t store_nodes;        /* of an unprivileged domain, as xenstored 4.17; 0: 1000 */
	uint32_t store_watches;      /* 0: 128 */
	uint32_t store_transactions; /* 0: 10 */
	uint32_t store_outstanding;  /* 0: 20 */
	uint32_t store_node_bytes;   /* 0: 2048 */
};

struct pvf_sim_options {
	uint32_t size;
	bool stepped;
	uint64_t seed; /* stepped: the schedule */
	const struct pvf_sim_platform *platform;
	struct pvf_sim_limits limits;
	uint32_t store_ring_start; /* where the xenstore ring's indices start (FEATURES X09) */
};

int pvf_sim_create(const struct pvf_sim_options *options, struct pvf_sim **sim);
void pvf_sim_destroy(struct pvf_sim *sim);

/* Stepped mode: lets one of the others do one step; false when nobody had anything to do. */
bool pvf_sim_step(struct pvf_sim *sim);

/* Domain 0 exists from the start and runs the backends that name it. Others are made here; their home node is made too. */
int pvf_sim_domain_create(struct pvf_sim *sim, uint16_t domid, struct pvf_sim_domain **domain);
struct pvf_sim_domain *pvf_sim_domain_find(struct pvf_sim *sim, uint16_t domid);
/* As if the domain had been killed: its backends stop, its ports close, its mappings end, its watches go; nodes stay. */
void pvf_sim_domain_destroy(struct pvf_sim_domain *domain);
/* Save and restore: grants, ports, watches and transactions are forgotten; the program must say resumed(generation). */
uint32_t pvf_sim_domain_resume(struct pvf_sim_domain *domain);

/* The table a program in this domain uses; valid until the domain is destroyed. */
const struct pvf_host *pvf_sim_domain_host(struct pvf_sim_domain *domain);

/* What a domain holds at this moment. All zero: nothing was left behind. */
struct pvf_sim_held {
	uint32_t grants;        /* entries made and not ended */
	uint32_t grants_mapped; /* of those, mapped by somebody */
	uint32_t maps;          /* mappings this domain made */
	uint32_t ports;
	uint32_t watches;
	uint32_t transactions;
	uint32_t pages;  /* pages of the domain's memory handed out */
	uint32_t parked; /* pages parked by the core */
	size_t memory;   /* bytes of control memory (alloc) */
};
void pvf_sim_held(struct pvf_sim_domain *domain, struct pvf_sim_held *held);

/* Round trips of the domain's wire client so far (PERF P11). */
uint64_t pvf_sim_store_round_trips(struct pvf_sim_domain *domain);

/* ---- the store from outside, with the toolstack's rights; paths are absolute ---- */

int pvf_sim_store_write(struct pvf_sim *sim, const char *path, const void *value, uint32_t length);
int pvf_sim_store_read(struct pvf_sim *sim, const char *path, void *value, uint32_t capacity, uint32_t *length);
int pvf_sim_store_remove(struct pvf_sim *sim, const char *path);
uint32_t pvf_sim_store_count(struct pvf_sim *sim); /* nodes in all */

/* ---- the toolstack: a vbd's two halves ---- */

struct pvf_sim_vbd_options {
	uint32_t size;
	uint32_t virtual_device; /* 0: 51712 (xvda) */
	uint16_t frontend_domid;
	uint16_t backend_domid;
	const struct pvf_sim_disk *disk; /* served by the reference backend; must outlive the vbd */
	uint32_t sector_size;            /* 0: 512 */
	uint32_t physical_sector_size;   /* 0: sector_size */
	bool backend_persistent;         /* the backend offers feature-persistent */
	/*
	 * "KEY=VALUE" sets a key of the backend's directory to any bytes, now and whenever the backend would write it;
	 * "KEY=" removes it and keeps the backend from writing it.
	 */
	const char *const *backend_keys;
	uint32_t nr_backend_keys;
	const char *fault;                         /* NULL, or "NAME" or "NAME@N": see pvf_sim_fault_names */
	const struct pvf_sim_backend_ops *backend; /* NULL: the reference backend; else somebody's own */
	void *backend_config;                      /* handed to the backend's create */
};

int pvf_sim_vbd_attach(struct pvf_sim *sim, const struct pvf_sim_vbd_options *options, struct pvf_sim_vbd **vbd);
/* Removes both halves; the backend stops first. */
void pvf_sim_vbd_detach(struct pvf_sim_vbd *vbd);
/* The frontend's path as its domain sees it: "device/vbd/51712". */
const char *pvf_sim_vbd_path(const struct pvf_sim_vbd *vbd);
const char *pvf_sim_vbd_backend_path(const struct pvf_sim_vbd *vbd);
/* Kills the backend (as SIGKILL a process) / starts it anew on the same nodes. */
void pvf_sim_vbd_kill_backend(struct pvf_sim_vbd *vbd);
int pvf_sim_vbd_restart_backend(struct pvf_sim_vbd *vbd);
/* Changes the fault while it runs; NULL: none. PVF_INVALID for a name that is none. */
int pvf_sim_vbd_fault(struct pvf_sim_vbd *vbd, const char *fault);

/* What the reference backend really saw and did. */
struct pvf_sim_vbd_counters {
	uint64_t reads, writes, flushes, other;
	uint64_t segments;
	uint64_t bytes_read, bytes_written;
	uint64_t refused;       /* requests answered with an error */
	uint64_t events;        /* notifications received from the frontend */
	uint64_t notifications; /* sent to the frontend */
	uint64_t grant_maps, grant_unmaps;
	uint32_t grants_mapped;     /* now */
	uint32_t persistent_mapped; /* of those, kept */
	uint64_t cpu_ns;            /* of the backend's thread; 0 in stepped mode */
};
void pvf_sim_vbd_counters(const struct pvf_sim_vbd *vbd, struct pvf_sim_vbd_counters *counters);

/* The names for `fault`, ended by NULL, each with a line that says what it does. */
struct pvf_sim_fault_name {
	const char *name;
	const char *text;
};
extern const struct pvf_sim_fault_name pvf_sim_fault_names[];

/* ---- faults of the machine ---- */

struct pvf_sim_faults {
	uint32_t fail_call;   /* the Nth host call from now fails (alloc, share, evtchn_alloc, store, watch); 0: none */
	uint32_t conflicts;   /* that many transactions to come end in EAGAIN */
	uint32_t lose_events; /* that many notifications to come are lost */
	uint32_t double_events;    /* that many are delivered twice */
	uint32_t late_events;      /* stepped: that many are delivered after everything else */
	uint32_t spurious_watches; /* that many watch events to come are fired twice */
	bool store_silent;         /* xenstored stops answering */
};
/* Sets the faults of one domain, replacing those before. */
void pvf_sim_domain_faults(struct pvf_sim_domain *domain, const struct pvf_sim_faults *faults);
/* Host calls made by the domain so far: the range of fail_call. */
uint32_t pvf_sim_domain_calls(struct pvf_sim_domain *domain);

#endif
