/* SPDX-License-Identifier: MIT */
/*
 * Event channels. A notification takes no lock: it finds the other end by one word, enters that port's gate, and looks
 * whether the port is still linked to the one it came from. A port's link and target change only while its gate is shut
 * and empty, so whoever closes knows on return that no callback runs or starts.
 */
#include "hv.h"

#include <pvfront/compiler.h>

static struct hv_port *port_of(const struct hv_domain *domain, uint32_t port)
{
	return (struct hv_port *)((uintptr_t)domain + domain->ports_at) + port;
}

static uint32_t link_to(const struct hv_domain *domain, uint32_t port)
{
	return domain->slot << 16 | port;
}

/* The lowest free port, as Xen gives them out; 0: none. With the lock held. */
static uint32_t take_port(struct hv *hv, struct hv_domain *domain, uint16_t remote, void *target)
{
	for (uint32_t i = domain->lowest_port; i < domain->ports; i++) {
		struct hv_port *port = port_of(domain, i);

		if (pvf_load32(&port->link) != HV_LINK_FREE)
			continue;
		domain->lowest_port = i + 1;
		port->domid = remote;
		hv->targets[domain->slot][i] = target;
		pvf_store32(&port->bits, 0);
		pvf_store32_release(&port->link, HV_LINK_UNBOUND);
		return i;
	}
	domain->lowest_port = domain->ports;
	return 0;
}

int hv_port_alloc(struct hv *hv, struct hv_domain *domain, uint16_t remote, void *target, uint32_t *port)
{
	uint32_t taken;

	sim_lock(hv->os, &hv->ports_lock);
	taken = take_port(hv, domain, remote, target);
	sim_unlock(hv->os, &hv->ports_lock);
	if (taken == 0)
		return PVF_NO_SPACE;
	*port = taken;
	return PVF_OK;
}

static bool may_bind(const struct hv_domain *domain, const struct hv_domain *remote, uint32_t remote_port)
{
	const struct hv_port *far;

	if (remote_port == 0 || remote_port >= remote->ports)
		return false;
	far = port_of(remote, remote_port);
	return pvf_load32(&far->link) == HV_LINK_UNBOUND && far->domid == domain->domid;
}

int hv_port_bind(struct hv *hv, struct hv_domain *domain, struct hv_domain *remote, uint32_t remote_port, void *target,
		 uint32_t *port)
{
	uint32_t taken = 0;
	int status = PVF_INVALID;

	sim_lock(hv->os, &hv->ports_lock);
	if (may_bind(domain, remote, remote_port)) {
		taken = take_port(hv, domain, (uint16_t)remote->domid, target);
		status = taken ? PVF_OK : PVF_NO_SPACE;
	}
	if (taken) {
		struct hv_port *near = port_of(domain, taken), *far = port_of(remote, remote_port);

		pvf_store32_release(&near->link, link_to(remote, remote_port));
		pvf_store32_release(&far->link, link_to(domain, taken));
		sim_gate_open(&near->gate);
		sim_gate_open(&far->gate);
		*port = taken;
	}
	sim_unlock(hv->os, &hv->ports_lock);

	/* What was sent while the port was unbound is lost, so Xen raises the new port once (event_channel.c's rule). */
	if (taken)
		hv_port_raise(hv, domain, taken);
	return status;
}

/* With the lock held. */
static void close_locked(struct hv *hv, struct hv_domain *domain, uint32_t number)
{
	struct hv_port *port = port_of(domain, number);
	uint32_t link = pvf_load32(&port->link);

	if (link == HV_LINK_FREE)
		return;

	sim_gate_shut(hv->os, &port->gate);
	pvf_store32_release(&port->link, HV_LINK_FREE);
	hv->targets[domain->slot][number] = NULL;
	if (number < domain->lowest_port)
		domain->lowest_port = number;

	if (link != HV_LINK_UNBOUND) {
		struct hv_port *far = port_of(hv->domains[link >> 16], link & 0xffffu);

		sim_gate_shut(hv->os, &far->gate);
		pvf_store32_release(&far->link, HV_LINK_UNBOUND);
	}
}

/*
 * Waits for callbacks that run at this moment, holding the lock: a callback takes none, and marks an event only (XSA-441
 * was a close that waited for an interrupt handler which needed the closer's lock).
 */
void hv_port_close(struct hv *hv, struct hv_domain *domain, uint32_t port)
{
	if (port == 0 || port >= domain->ports)
		return;
	sim_lock(hv->os, &hv->ports_lock);
	close_locked(hv, domain, port);
	sim_unlock(hv->os, &hv->ports_lock);
}

void hv_port_close_all(struct hv *hv, struct hv_domain *domain)
{
	sim_lock(hv->os, &hv->ports_lock);
	for (uint32_t i = 1; i < domain->ports; i++)
		close_locked(hv, domain, i);
	sim_unlock(hv->os, &hv->ports_lock);
}

/* Inside the gate: pending when masked, an upcall otherwise. */
static void deliver(struct hv *hv, struct hv_domain *domain, uint32_t number)
{
	struct hv_port *port = port_of(domain, number);
	uint32_t bits = pvf_load32(&port->bits);

	while (bits & HV_PORT_MASKED) {
		if (pvf_cas32(&port->bits, bits, bits | HV_PORT_PENDING))
			return;
		bits = pvf_load32(&port->bits);
	}
	hv->upcall(hv->ctx, domain->slot, number, hv->targets[domain->slot][number]);
}

void hv_port_notify(struct hv *hv, struct hv_domain *domain, uint32_t number)
{
	struct hv_domain *remote;
	struct hv_port *far;
	uint32_t link;

	if (number >= domain->ports)
		return;
	link = pvf_load32_acquire(&port_of(domain, number)->link);
	if (link == HV_LINK_FREE || link == HV_LINK_UNBOUND)
		return;

	remote = hv->domains[link >> 16];
	far = port_of(remote, link & 0xffffu);
	if (!sim_gate_enter(hv->os, &far->gate))
		return;
	if (pvf_load32(&far->link) == link_to(domain, number))
		deliver(hv, remote, link & 0xffffu);
	sim_gate_leave(hv->os, &far->gate);
}

void hv_port_raise(struct hv *hv, struct hv_domain *domain, uint32_t port)
{
	struct hv_port *near = port_of(domain, port);

	if (!sim_gate_enter(hv->os, &near->gate))
		return;
	deliver(hv, domain, port);
	sim_gate_leave(hv->os, &near->gate);
}

static uint32_t change_bits(struct hv_port *port, uint32_t clear, uint32_t set)
{
	uint32_t bits;

	do {
		bits = pvf_load32(&port->bits);
	} while (!pvf_cas32(&port->bits, bits, (bits & ~clear) | set));
	return bits;
}

void hv_port_mask(struct hv *hv, struct hv_domain *domain, uint32_t port)
{
	(void)hv;
	if (port < domain->ports)
		(void)change_bits(port_of(domain, port), 0, HV_PORT_MASKED);
}

bool hv_port_unmask(struct hv *hv, struct hv_domain *domain, uint32_t port)
{
	(void)hv;
	if (port >= domain->ports)
		return false;
	return (change_bits(port_of(domain, port), HV_PORT_MASKED | HV_PORT_PENDING, 0) & HV_PORT_PENDING) != 0;
}

uint32_t hv_ports(struct hv *hv, struct hv_domain *domain)
{
	uint32_t taken = 0;

	sim_lock(hv->os, &hv->ports_lock);
	for (uint32_t i = 1; i < domain->ports; i++)
		taken += pvf_load32(&port_of(domain, i)->link) != HV_LINK_FREE;
	sim_unlock(hv->os, &hv->ports_lock);
	return taken;
}
