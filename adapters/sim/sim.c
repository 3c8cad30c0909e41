/* SPDX-License-Identifier: MIT */
/* The machine: made and unmade, its memory, clock and chance. */
#include "machine.h"

#include "bytes.h"

#define TICK_READ 20u /* stepped: the clock goes on whenever somebody looks, so that no loop on it is endless */

void *sim_alloc(struct pvf_sim *sim, size_t bytes)
{
	return sim->os.alloc(sim->os.ctx, bytes);
}

void sim_free(struct pvf_sim *sim, void *memory, size_t bytes)
{
	if (memory)
		sim->os.free(sim->os.ctx, memory, bytes);
}

uint64_t sim_now(struct pvf_sim *sim)
{
	if (!sim->stepped)
		return sim->os.now(sim->os.ctx);
	sim->clock += TICK_READ;
	return sim->clock;
}

uint64_t sim_thread_cpu(struct pvf_sim *sim)
{
	if (sim->stepped || !sim->os.thread_cpu)
		return 0;
	return sim->os.thread_cpu(sim->os.ctx);
}

bool sim_is_stepped(const struct pvf_sim *sim)
{
	return sim->stepped;
}

void sim_log(struct pvf_sim *sim, int level, const char *message)
{
	if (sim->os.log)
		sim->os.log(sim->os.ctx, level, message);
}

uint32_t sim_random(struct pvf_sim *sim, uint32_t n)
{
	/* splitmix64 of the seed and a count: the same on every machine, and safe to call from any thread */
	uint64_t x = sim->seed + (uint64_t)(pvf_add32(&sim->drawn, 1) + 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	x ^= x >> 31;
	return (uint32_t)((x >> 32) * n >> 32);
}

static void default_to(uint32_t *limit, uint32_t value)
{
	if (*limit == 0)
		*limit = value;
}

static void set_limits(struct pvf_sim_limits *limits)
{
	default_to(&limits->domain_pages, 16384);
	default_to(&limits->grant_frames, 64);
	default_to(&limits->ports, 4096);
	default_to(&limits->store_nodes, 1000);
	default_to(&limits->store_watches, 128);
	default_to(&limits->store_transactions, 10);
	default_to(&limits->store_outstanding, 20);
	default_to(&limits->store_node_bytes, 2048);
}

static bool usable(const struct pvf_sim_options *options)
{
	const struct pvf_sim_platform *os = options->platform;

	if (options->size < sizeof(*options) || !os || os->size < sizeof(*os))
		return false;
	if (!os->alloc || !os->free)
		return false;
	if (!options->stepped && (!os->now || !os->spawn || !os->join || !os->wait || !os->wake))
		return false;
	return options->limits.ports <= 65536u && options->limits.grant_frames <= 4096u;
}

int pvf_sim_create(const struct pvf_sim_options *options, struct pvf_sim **made)
{
	struct pvf_sim_domain *domain;
	struct pvf_sim *sim;
	int status;

	*made = NULL;
	if (!usable(options))
		return PVF_INVALID;
	sim = options->platform->alloc(options->platform->ctx, sizeof(*sim));
	if (!sim)
		return PVF_NO_MEMORY;

	sim->os = *options->platform;
	sim->limits = options->limits;
	set_limits(&sim->limits);
	sim->stepped = options->stepped;
	sim->seed = options->seed;
	sim->clock = 1000000000u;
	sim->store_ring_start = options->store_ring_start;
	sim->hv.os = &sim->os;
	sim->hv.ctx = sim;
	sim->hv.upcall = sim_upcall;

	status = sim_domain_new(sim, SIM_STORE_DOMID, &sim->store_domain);
	if (status == PVF_OK)
		status = xsd_create(sim);
	if (status == PVF_OK)
		status = pvf_sim_domain_create(sim, 0, &domain);
	if (status != PVF_OK) {
		pvf_sim_destroy(sim);
		return status;
	}
	*made = sim;
	return PVF_OK;
}

void pvf_sim_destroy(struct pvf_sim *sim)
{
	uint32_t n;

	if (!sim)
		return;

	n = pvf_load32_acquire(&sim->nr_domains);
	for (uint32_t i = 0; i < n; i++) {
		if (sim->domains[i] != sim->store_domain && sim_domain_alive(sim->domains[i]))
			pvf_sim_domain_destroy(sim->domains[i]);
	}
	if (sim->store_domain)
		sim_actors_stop(sim->store_domain);
	if (sim->xsd)
		xsd_destroy(sim);
	if (sim->store_domain)
		sim_domain_end(sim->store_domain);
	for (uint32_t i = 0; i < n; i++)
		sim_domain_release(sim->domains[i]);
	sim->os.free(sim->os.ctx, sim, sizeof(*sim));
}
