/* SPDX-License-Identifier: MIT */
/*
 * Who runs when. Threaded: a thread for each domain that has actors, asleep on the domain's bell. Stepped: whoever waits
 * picks one of the actors that may have work, by the run's seed; when nobody has any, the virtual clock jumps.
 */
#include "machine.h"

#define TICK_STEP 1000u /* stepped: nanoseconds that one step takes */

/* ---- upcalls ---- */

static void fire(struct pvf_sim_domain *domain, void *target)
{
	pvf_event(target);
	sim_domain_wake(domain);
}

void sim_upcall(void *ctx, uint32_t slot, uint32_t port, void *target)
{
	struct pvf_sim *sim = ctx;
	struct pvf_sim_domain *domain = sim->domains[slot];
	struct sim_fault_words *faults = &domain->faults;

	/* The line to xenstored is not what these faults are about: store_silent is. */
	if (PVF_LIKELY(target != &domain->store_event)) {
		if (sim_fault_take(&faults->lose_events))
			return;
		if (sim_fault_take(&faults->late_events)) {
			hv_port_mask(&sim->hv, domain->hv, port);
			hv_port_raise(&sim->hv, domain->hv, port);
			sim->late++;
			return;
		}
		if (sim_fault_take(&faults->double_events))
			fire(domain, target);
	}
	fire(domain, target);
}

/* Stepped: what was held back until nobody had anything else to do. */
static bool deliver_late(struct pvf_sim *sim)
{
	uint32_t n = sim->nr_domains;
	bool delivered = false;

	if (sim->late == 0)
		return false;
	sim->late = 0;
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t port = 1; port < sim->hv.domains[i]->ports; port++) {
			if (!hv_port_unmask(&sim->hv, sim->hv.domains[i], port))
				continue;
			hv_port_raise(&sim->hv, sim->hv.domains[i], port);
			delivered = true;
		}
	}
	return delivered;
}

void sim_domain_wake(struct pvf_sim_domain *domain)
{
	if (!domain->sim->stepped) {
		sim_bell_ring(&domain->sim->os, &domain->bell);
		return;
	}
	for (struct sim_actor *actor = domain->actors; actor; actor = actor->next)
		actor->idle = false;
}

/* ---- threaded ---- */

static void run_actor(struct pvf_sim_domain *domain, struct sim_actor *actor, bool *busy)
{
	const struct pvf_sim_platform *os = &domain->sim->os;

	actor->running = true;
	actor->due = 0;
	sim_unlock(os, &domain->actors_lock);
	*busy |= actor->work(actor->arg);
	sim_lock(os, &domain->actors_lock);
	actor->running = false;
	if (actor->removed)
		sim_bell_ring(os, &domain->actors_bell);
}

/* Once around; says whether anybody had work and when the next wants to be called anyhow. */
static bool run_all(struct pvf_sim_domain *domain, uint64_t *due)
{
	const struct pvf_sim_platform *os = &domain->sim->os;
	bool busy = false;

	*due = PVF_FOREVER;
	sim_lock(os, &domain->actors_lock);
	for (struct sim_actor *actor = domain->actors; actor; actor = actor->next) {
		if (!actor->removed)
			run_actor(domain, actor, &busy);
		if (!actor->removed && actor->due && actor->due < *due)
			*due = actor->due;
	}
	sim_unlock(os, &domain->actors_lock);
	return busy;
}

static void domain_thread(void *arg)
{
	struct pvf_sim_domain *domain = arg;

	for (;;) {
		uint32_t heard = sim_bell_listen(&domain->bell);
		uint64_t due;

		if (pvf_load32_acquire(&domain->stop))
			return;
		(void)sim_client_serve(domain);
		if (!run_all(domain, &due))
			(void)sim_bell_sleep(&domain->sim->os, &domain->bell, heard, due);
	}
}

/* ---- actors come and go ---- */

int sim_actor_add(struct pvf_sim_domain *domain, struct sim_actor *actor)
{
	struct pvf_sim *sim = domain->sim;
	struct sim_actor **end = &domain->actors;
	int status = PVF_OK;

	sim_lock(&sim->os, &domain->actors_lock);
	if (!sim->stepped && !domain->thread)
		status = sim->os.spawn(sim->os.ctx, domain_thread, domain, "pvf-domain", &domain->thread);
	if (status == PVF_OK) {
		actor->next = NULL;
		actor->running = false;
		actor->removed = false;
		actor->idle = false;
		while (*end)
			end = &(*end)->next;
		*end = actor;
	}
	sim_unlock(&sim->os, &domain->actors_lock);
	if (status == PVF_OK)
		sim_domain_wake(domain);
	return status;
}

void sim_actor_remove(struct pvf_sim_domain *domain, struct sim_actor *actor)
{
	struct pvf_sim *sim = domain->sim;
	struct sim_actor **at;

	sim_lock(&sim->os, &domain->actors_lock);
	actor->removed = true;
	while (actor->running && !sim->stepped) {
		uint32_t heard = sim_bell_listen(&domain->actors_bell);

		sim_unlock(&sim->os, &domain->actors_lock);
		(void)sim_bell_sleep(&sim->os, &domain->actors_bell, heard, PVF_FOREVER);
		sim_lock(&sim->os, &domain->actors_lock);
	}
	/* It is not in the list any more when its domain has died before. */
	at = &domain->actors;
	while (*at && *at != actor)
		at = &(*at)->next;
	if (*at)
		*at = actor->next;
	sim_unlock(&sim->os, &domain->actors_lock);
}

void sim_actors_stop(struct pvf_sim_domain *domain)
{
	struct pvf_sim *sim = domain->sim;

	if (domain->thread) {
		pvf_store32_release(&domain->stop, 1);
		sim_domain_wake(domain);
		sim->os.join(sim->os.ctx, domain->thread);
		domain->thread = NULL;
	}
	sim_lock(&sim->os, &domain->actors_lock);
	domain->actors = NULL;
	sim_unlock(&sim->os, &domain->actors_lock);
}

/* ---- stepped ---- */

/*
 * May be picked: not at work further up this stack, and nobody of its domain in the middle of talking to xenstored (it
 * would find the line taken, and nobody to let go of it).
 */
static bool ready(const struct pvf_sim_domain *domain, struct sim_actor *actor)
{
	if (actor->running || actor->removed || domain->store_lock.word)
		return false;
	if (actor->due && actor->due <= domain->sim->clock)
		actor->idle = false;
	return !actor->idle;
}

/* The nth of those that may be picked, or how many there are. */
static struct sim_actor *nth_ready(struct pvf_sim *sim, uint32_t nth, uint32_t *count, struct pvf_sim_domain **domain)
{
	*count = 0;
	for (uint32_t i = 0; i < sim->nr_domains; i++) {
		for (struct sim_actor *actor = sim->domains[i]->actors; actor; actor = actor->next) {
			if (!ready(sim->domains[i], actor))
				continue;
			if ((*count)++ == nth) {
				*domain = sim->domains[i];
				return actor;
			}
		}
	}
	return NULL;
}

static bool step_actor(struct pvf_sim_domain *domain, struct sim_actor *actor)
{
	bool busy = sim_client_serve(domain);

	/* Idle until shown otherwise: a wake during its work counts. */
	actor->idle = true;
	actor->running = true;
	actor->due = 0;
	if (actor->work(actor->arg)) {
		actor->idle = false;
		busy = true;
	}
	actor->running = false;
	return busy;
}

bool pvf_sim_step(struct pvf_sim *sim)
{
	struct pvf_sim_domain *domain = NULL;
	struct sim_actor *actor;
	uint32_t count;

	if (!sim->stepped)
		return false;
	/* Each turn makes one more idle, unless it did something. */
	for (;;) {
		(void)nth_ready(sim, SIM_NO_FRAME, &count, &domain);
		if (count == 0)
			return false;
		actor = nth_ready(sim, sim_random(sim, count), &count, &domain);
		sim->clock += TICK_STEP;
		if (step_actor(domain, actor))
			return true;
	}
}

void sim_run_prompt(struct pvf_sim *sim)
{
	for (uint32_t i = 0; i < sim->nr_domains; i++) {
		for (struct sim_actor *actor = sim->domains[i]->actors; actor; actor = actor->next) {
			while (actor->prompt && ready(sim->domains[i], actor))
				(void)step_actor(sim->domains[i], actor);
		}
	}
}

static uint64_t earliest_due(const struct pvf_sim *sim, uint64_t due)
{
	for (uint32_t i = 0; i < sim->nr_domains; i++) {
		for (const struct sim_actor *actor = sim->domains[i]->actors; actor; actor = actor->next) {
			if (!actor->running && actor->due > sim->clock && actor->due < due)
				due = actor->due;
		}
	}
	return due;
}

static void jump(struct pvf_sim *sim, uint64_t to)
{
	if (to > sim->clock)
		sim->clock = to;
	/* Time has passed: whoever looks at the clock without having said so may have work now. */
	for (uint32_t i = 0; i < sim->nr_domains; i++)
		sim_domain_wake(sim->domains[i]);
}

int sim_wait_stepped(struct pvf_sim_domain *domain, struct pvf_event *event, uint32_t sequence, uint64_t deadline,
		     bool serve)
{
	struct pvf_sim *sim = domain->sim;

	for (;;) {
		uint64_t next;

		if (serve)
			(void)sim_client_serve(domain);
		if (pvf_event_sequence(event) != sequence)
			return PVF_OK;
		if (sim->clock >= deadline)
			return PVF_TIMEOUT;
		if (pvf_sim_step(sim) || deliver_late(sim))
			continue;

		next = earliest_due(sim, deadline);
		if (next == PVF_FOREVER) {
			sim_log(sim, PVF_LOG_WARNING,
				"nothing left to happen, and somebody waits for it without a deadline");
			return PVF_TIMEOUT;
		}
		jump(sim, next);
	}
}
