/* SPDX-License-Identifier: MIT */
/*
 * How a backend, ours or yours, lives in the simulated Xen. It is a program without a thread of its own: work() does one
 * bounded piece and says whether there was anything to do; the domain's thread (or the stepped schedule) calls it.
 * It talks to xenstore through the host table of its domain, and to the frontend through the calls below.
 */
#ifndef PVFRONT_SIM_BACKEND_H
#define PVFRONT_SIM_BACKEND_H

#include <pvfront/sim.h>

struct pvf_sim_backend {
	struct pvf_sim *sim;
	struct pvf_sim_domain *domain;
	const struct pvf_host *host; /* of the backend's domain */
	uint16_t frontend_domid;
	uint16_t reserved;
	const char *path;          /* absolute: /local/domain/0/backend/vbd/1/51712 */
	const char *frontend_path; /* absolute */
	struct pvf_event event;    /* watches and channels of this backend may all point here */
	const struct pvf_sim_vbd_options *options;
};

struct pvf_sim_backend_ops {
	uint32_t size;
	uint32_t reserved;
	const char *name; /* as "vbd" */
	/* The nodes are there, state is Initialising. Returns PVF_OK and the backend's own state. */
	int (*create)(struct pvf_sim_backend *backend, void *config, void **state);
	/* One bounded piece of work; true: there was something to do, call again. */
	bool (*work)(void *state);
	/* The backend ends: unmaps, closes and unwatches what it has. `killed`: without a word to the frontend. */
	void (*destroy)(void *state, bool killed);
	/* Optional: what it saw. */
	void (*counters)(void *state, struct pvf_sim_vbd_counters *counters);
};

/* Maps a page that the frontend granted; *address is valid until unmap. PVF_STORE_DENIED when it was not granted. */
int pvf_sim_map(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, bool read_only, void **address,
		uint32_t *handle);
int pvf_sim_unmap(struct pvf_sim_domain *domain, uint32_t handle);

/* Copies between memory of the caller's and a granted page, without mapping it. */
int pvf_sim_copy_from(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, uint32_t offset, void *data,
		      uint32_t bytes);
int pvf_sim_copy_to(struct pvf_sim_domain *domain, uint16_t owner, uint32_t ref, uint32_t offset, const void *data,
		    uint32_t bytes);

/* Binds to a port that the frontend left unbound for this domain. Notify and close as any port: through the host table. */
int pvf_sim_bind(struct pvf_sim_domain *domain, uint16_t remote, uint32_t remote_port, struct pvf_event *event,
		 uint32_t *port);

#endif
