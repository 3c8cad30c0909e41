/* SPDX-License-Identifier: MIT */
/*
 * The hypervisor: grant tables version 1 with in-use semantics, and event channels. A domain's tables live in one block
 * of memory that holds no pointers, so that it can be private or shared between processes.
 *
 * Locks: grants by stripes of a domain's table; the event channels of all domains by one mutex for alloc, bind and close.
 * A notification takes no lock.
 */
#ifndef PVFRONT_SIM_HV_H
#define PVFRONT_SIM_HV_H

#include "lock.h"

#include <pvfront/wire/grant.h>

#define HV_DOMAINS 256u
#define HV_STRIPES 16u
#define HV_PIN_READ 1u
#define HV_PIN_WRITE 0x10000u

/* Xen's active entry: what is mapped, whatever the guest writes into its table meanwhile. */
struct hv_active {
	uint32_t pins; /* HV_PIN_READ each for readers, HV_PIN_WRITE each for writers */
	uint32_t frame;
};

/* What a port's link holds when it is not (slot << 16 | port) of its other end. */
#define HV_LINK_FREE 0xffffffffu
#define HV_LINK_UNBOUND 0xfffffffeu

#define HV_PORT_PENDING 1u
#define HV_PORT_MASKED 2u

struct hv_port {
	struct sim_gate gate; /* open while bound: whoever delivers is inside; link and target change only when shut */
	volatile uint32_t link;
	volatile uint32_t bits;
	uint32_t domid; /* who may be at the other end */
};

/* The head of a domain's block. */
struct hv_domain {
	uint32_t domid;
	uint32_t slot;
	uint32_t grants, ports; /* entries of each table */
	uint32_t grants_at, active_at, ports_at;
	uint32_t lowest_port;   /* no free port is below it */
	uint32_t life;          /* of the grant table; a resume begins a new one */
	volatile uint32_t pins; /* mappings of this domain's pages, of this and earlier lives */
	struct sim_mutex stripes[HV_STRIPES];
};

struct hv {
	const struct pvf_sim_platform *os;
	void *ctx;
	/* Runs in the notifier's context. After close has returned none is running or starts. */
	void (*upcall)(void *ctx, uint32_t slot, uint32_t port, void *target);
	struct sim_mutex ports_lock;
	struct hv_domain *domains[HV_DOMAINS];
	void **targets[HV_DOMAINS]; /* for each port what its upcall is handed */
};

/* Room for the block of a domain, and its first use. */
size_t hv_domain_bytes(uint32_t grants, uint32_t ports);
void hv_domain_init(void *block, uint32_t slot, uint32_t grants, uint32_t ports);

/* ---- grants ---- */

struct pvf_wire_grant_v1 *hv_grant(const struct hv_domain *owner, uint32_t ref);
/* The guest's part: makes an entry; ends one, false while it is in use. */
void hv_grant_make(const struct hv_domain *owner, uint32_t ref, uint16_t domid, uint32_t frame, bool read_only);
bool hv_grant_end(const struct hv_domain *owner, uint32_t ref);

/* The hypervisor's part: takes a page into use for `mapper` and says which frame; `life` goes back to unpin. */
int hv_grant_pin(struct hv *hv, struct hv_domain *owner, uint32_t ref, uint16_t mapper, bool read_only, uint32_t *frame,
		 uint32_t *life);
void hv_grant_unpin(struct hv *hv, struct hv_domain *owner, uint32_t ref, bool read_only, uint32_t life);
/* A new grant table: entries from `first` on are gone, whoever maps what they named. */
void hv_grant_reset(struct hv *hv, struct hv_domain *owner, uint32_t first);
/* Entries from `first` on that somebody maps. */
uint32_t hv_grants_mapped(struct hv *hv, struct hv_domain *owner, uint32_t first);

/* ---- event channels ---- */

int hv_port_alloc(struct hv *hv, struct hv_domain *domain, uint16_t remote, void *target, uint32_t *port);
int hv_port_bind(struct hv *hv, struct hv_domain *domain, struct hv_domain *remote, uint32_t remote_port, void *target,
		 uint32_t *port);
void hv_port_close(struct hv *hv, struct hv_domain *domain, uint32_t port);
void hv_port_close_all(struct hv *hv, struct hv_domain *domain);
void hv_port_notify(struct hv *hv, struct hv_domain *domain, uint32_t port);
/* Delivers to the port itself, as its other end would. */
void hv_port_raise(struct hv *hv, struct hv_domain *domain, uint32_t port);
void hv_port_mask(struct hv *hv, struct hv_domain *domain, uint32_t port);
/* True: something came while it was masked. */
bool hv_port_unmask(struct hv *hv, struct hv_domain *domain, uint32_t port);
uint32_t hv_ports(struct hv *hv, struct hv_domain *domain);

#endif
