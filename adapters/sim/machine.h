/* SPDX-License-Identifier: MIT */
/* The simulated machine and its domains, as the parts of the simulator see them. */
#ifndef PVFRONT_SIM_MACHINE_H
#define PVFRONT_SIM_MACHINE_H

#include "hv.h"
#include "sim_internal.h"

#include <pvfront/compiler.h>
#include <pvfront/xs.h>

/* The domain that xenstored lives in: a stub domain, as Xen allows, so that nothing of domain 0's is taken up by it. */
#define SIM_STORE_DOMID 0x7feeu
#define SIM_NO_DOMID 0xffffu

/* Reference 1 is the store page's (Xen: grant_table.h, GNTTAB_RESERVED_XENSTORE). */
#define SIM_STORE_REF 1u

struct xsd;

/* A page of somebody's that a domain has mapped. */
struct sim_map {
	uint32_t owner; /* slot */
	uint32_t ref;
	uint32_t life;
	uint32_t frame;
	uint32_t next_free;
	bool used;
	bool read_only;
};

/* Counters that run down: each fault takes one. */
struct sim_fault_words {
	volatile uint32_t fail_at; /* call number, 0: none */
	volatile uint32_t conflicts, lose_events, double_events, late_events, spurious_watches, store_silent;
};

/*
 * Domains are never freed before the machine is: a late notification may still look at one. A dead one's slot serves
 * the next domain.
 */
struct pvf_sim_domain {
	struct pvf_sim *sim;
	uint32_t slot;
	volatile uint32_t domid; /* SIM_NO_DOMID when dead */
	struct sim_gate gate;    /* open while alive: who maps its pages is inside for a moment */
	struct sim_bell bell;    /* rung by every upcall */
	struct hv_domain *hv;
	uint32_t generation;

	/* Memory and grants: what the guest's own kernel would keep. */
	struct sim_mutex lock;
	uint8_t *memory;
	uint8_t *page_used;
	volatile uint32_t *page_maps; /* mappings of each page; Xen frees a page when nobody holds it any more */
	uint32_t pages_used, page_cursor;
	uint32_t *free_refs; /* a stack */
	uint32_t nr_free_refs, fresh_ref, refs_used;
	size_t control_bytes;

	/* What it has mapped of others. */
	struct sim_mutex maps_lock;
	struct sim_map *maps;
	uint32_t nr_maps, maps_used, free_map;

	/* Its line to xenstored. */
	struct sim_mutex store_lock;
	struct pvf_xs xs;
	struct pvf_event store_event;
	volatile uint32_t store_served; /* the sequence that was last looked at */
	uint32_t store_frame, store_port;

	struct pvf_host_ops ops;
	struct pvf_host host;
	struct pvf_parking parking;
	volatile uint32_t calls;
	struct sim_fault_words faults;

	/* What runs in it. */
	struct sim_mutex actors_lock;
	struct sim_bell actors_bell; /* rung when an actor that is to go has left its work */
	struct sim_actor *actors;
	void *thread;
	volatile uint32_t stop;
};

struct pvf_sim {
	struct pvf_sim_platform os;
	struct pvf_sim_limits limits;
	bool stepped;
	uint64_t seed;
	volatile uint32_t drawn;
	uint64_t clock; /* stepped: virtual nanoseconds */
	uint32_t late;  /* stepped: notifications held back */
	uint32_t store_ring_start;
	struct hv hv;
	struct sim_mutex lock; /* who comes and goes */
	struct pvf_sim_domain *domains[HV_DOMAINS];
	volatile uint32_t nr_domains;
	struct pvf_sim_domain *store_domain;
	struct xsd *xsd;
};

static inline bool sim_domain_alive(const struct pvf_sim_domain *domain)
{
	return pvf_load32_acquire(&domain->domid) != SIM_NO_DOMID;
}

/* The live domain of that number, also xenstored's own; NULL. */
struct pvf_sim_domain *sim_find(struct pvf_sim *sim, uint32_t domid);

/* domain.c: a domain without a line to xenstored; pages of its memory, contiguous, SIM_NO_FRAME when there are none. */
#define SIM_NO_FRAME 0xffffffffu
int sim_domain_new(struct pvf_sim *sim, uint16_t domid, struct pvf_sim_domain **domain);
void sim_domain_end(struct pvf_sim_domain *domain);
void sim_domain_release(struct pvf_sim_domain *domain); /* the memory of a slot, when the machine ends */
uint32_t sim_pages_take(struct pvf_sim_domain *domain, uint32_t pages);
void sim_pages_give(struct pvf_sim_domain *domain, uint32_t frame, uint32_t pages);
int sim_refs_take(struct pvf_sim_domain *domain, uint32_t *refs, uint32_t n);
void sim_refs_give(struct pvf_sim_domain *domain, const uint32_t *refs, uint32_t n);

/* fault.c: takes one of a counted fault; counts a host call and says whether it is the one to fail. */
bool sim_fault_take(volatile uint32_t *word);
bool sim_fault_call(struct pvf_sim_domain *domain);

/* host.c: the table of functions that a program in the domain uses. */
void sim_host_init(struct pvf_sim_domain *domain);

/* client.c: the domain's wire client. */
int sim_client_open(struct pvf_sim_domain *domain);
void sim_client_resume(struct pvf_sim_domain *domain);
/* Looks at the ring if its event fired and nobody else is at it; true: something was there. */
bool sim_client_serve(struct pvf_sim_domain *domain);
void sim_client_host(struct pvf_host_ops *ops);

/* maptrack.c */
void sim_unmap_all(struct pvf_sim_domain *domain);

/* schedule.c */
void sim_upcall(void *ctx, uint32_t slot, uint32_t port, void *target);
/* Stepped: runs those who answer within a notification (sim_actor.prompt). */
void sim_run_prompt(struct pvf_sim *sim);
void sim_actors_stop(struct pvf_sim_domain *domain);
/*
 * Stepped: lets the others run until the event has happened or the deadline passed. `serve` also hands out the domain's
 * own watch events.
 */
int sim_wait_stepped(struct pvf_sim_domain *domain, struct pvf_event *event, uint32_t sequence, uint64_t deadline,
		     bool serve);

/* xsd.c */
int xsd_create(struct pvf_sim *sim);
void xsd_destroy(struct pvf_sim *sim);
int xsd_introduce(struct pvf_sim *sim, struct pvf_sim_domain *domain);
void xsd_release(struct pvf_sim *sim, struct pvf_sim_domain *domain, bool tell);
void xsd_held(struct pvf_sim *sim, struct pvf_sim_domain *domain, struct pvf_sim_held *held);

#endif
