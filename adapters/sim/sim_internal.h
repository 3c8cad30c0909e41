/* SPDX-License-Identifier: MIT */
/* What the parts of the simulator say to each other. */
#ifndef PVFRONT_SIM_INTERNAL_H
#define PVFRONT_SIM_INTERNAL_H

#include <pvfront/sim.h>
#include <pvfront/sim_backend.h>

/*
 * Something that has work now and then: xenstored, a backend. In threaded mode the actors of a domain share the domain's
 * thread; in stepped mode the schedule picks among all that may have work. work() must not be entered twice at once.
 */
struct sim_actor {
	bool (*work)(void *arg);
	void *arg;
	/* Zeroed before each call; work() may set it: call again at this time even if nothing wakes the domain. */
	uint64_t due;
	/* Stepped: runs within the notification that wakes its domain, before the notifier goes on. */
	bool prompt;
	/* The schedule's own from here on; zero to begin with. */
	struct sim_actor *next;
	bool running;
	bool removed;
	bool idle; /* found nothing to do when it was last asked, and nobody woke its domain since */
};

/* Adds an actor to a domain's thread (starting the thread with the first). The actor is the caller's memory. */
int sim_actor_add(struct pvf_sim_domain *domain, struct sim_actor *actor);
/* Removes it; on return it is not running and never runs again. Not to be called from its own work(). */
void sim_actor_remove(struct pvf_sim_domain *domain, struct sim_actor *actor);
/* Says that actors of this domain may have work. */
void sim_domain_wake(struct pvf_sim_domain *domain);

/*
 * The toolstack's own way into the store: creates or overwrites a node, owner `owner` with no access for others but read
 * for `reader` (Xen: libxl_device.c). Missing parents are made with the same permissions.
 */
int sim_store_create(struct pvf_sim *sim, const char *path, const void *value, uint32_t length, uint16_t owner,
		     uint16_t reader);

/* Memory, clock and CPU time of the platform, for all parts. */
void *sim_alloc(struct pvf_sim *sim, size_t bytes);
void sim_free(struct pvf_sim *sim, void *memory, size_t bytes);
uint64_t sim_now(struct pvf_sim *sim);
uint64_t sim_thread_cpu(struct pvf_sim *sim);
bool sim_is_stepped(const struct pvf_sim *sim);

/* A line for whoever runs the machine. */
void sim_log(struct pvf_sim *sim, int level, const char *message);

/* A random number below `n` from the run's seed (stepped: deterministic). */
uint32_t sim_random(struct pvf_sim *sim, uint32_t n);

#endif
