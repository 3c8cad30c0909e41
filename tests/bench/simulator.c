/* SPDX-License-Identifier: MIT */
/* The two figures that need a whole machine: store round trips of a connect, and the latency of an I/O that sleeps. */
#include <stdlib.h>

#include <pvfront/sim.h>
#include <pvfront/sim_posix.h>
#include <pvfront/vbd.h>

#include "bench.h"

#define GUEST 1
#define DISK_BYTES (16u << 20)
#define DEADLINE_NS 5000000000u

struct machine {
	struct pvf_sim *sim;
	struct pvf_sim_domain *guest;
	struct pvf_sim_disk disk;
	struct pvf_sim_vbd *attached;
	struct pvf_vbd *vbd;
};

struct sim_blocking {
	struct machine machine;
	struct pvf_vbd_queue *queue;
	struct pvf_seg seg;
	uint64_t sector;
};

static void must(int status, const char *what)
{
	if (status < 0)
		bench_fail(what, pvf_status_text(status));
}

/* Up to the device node: nothing of the frontend's has run. */
static void machine_start(struct machine *machine, bool stepped, uint64_t seed)
{
	struct pvf_sim_options options = {
		.size = sizeof(options),
		.stepped = stepped,
		.seed = seed,
		.platform = pvf_sim_posix_platform(),
	};
	struct pvf_sim_vbd_options vbd = {
		.size = sizeof(vbd),
		.frontend_domid = GUEST,
		.disk = &machine->disk,
		.backend_persistent = true,
	};

	must(pvf_sim_create(&options, &machine->sim), "pvf_sim_create");
	must(pvf_sim_domain_create(machine->sim, GUEST, &machine->guest), "pvf_sim_domain_create");
	must(pvf_sim_posix_ramdisk(DISK_BYTES, &machine->disk), "pvf_sim_posix_ramdisk");
	must(pvf_sim_vbd_attach(machine->sim, &vbd, &machine->attached), "pvf_sim_vbd_attach");
}

static void machine_connect(struct machine *machine, const struct pvf_vbd_options *options)
{
	must(pvf_vbd_open(pvf_sim_domain_host(machine->guest), pvf_sim_vbd_path(machine->attached), options,
			  &machine->vbd),
	     "pvf_vbd_open");
	int status = pvf_vbd_connect(machine->vbd);
	if (status < 0)
		bench_fail(pvf_status_name(status), pvf_vbd_error(machine->vbd));
}

static void machine_stop(struct machine *machine)
{
	must(pvf_vbd_close(machine->vbd), "pvf_vbd_close");
	pvf_sim_vbd_detach(machine->attached);
	machine->disk.close(machine->disk.ctx);
	pvf_sim_destroy(machine->sim);
}

uint32_t sim_connect_round_trips(uint64_t seed)
{
	struct pvf_vbd_options options = PVF_VBD_OPTIONS;
	struct machine machine;

	machine_start(&machine, true, seed);
	/* A guest boots after its backend has made its offer; waiting for that is not a round trip of the connect. */
	while (pvf_sim_step(machine.sim))
		;
	uint64_t before = pvf_sim_store_round_trips(machine.guest);
	machine_connect(&machine, &options);
	uint64_t after = pvf_sim_store_round_trips(machine.guest);
	machine_stop(&machine);
	return (uint32_t)(after - before);
}

struct sim_blocking *sim_blocking_open(void)
{
	struct sim_blocking *sim = calloc(1, sizeof(*sim));
	struct pvf_vbd_options options = PVF_VBD_OPTIONS;

	if (!sim)
		bench_fail("no memory", "for the simulator's contestant");
	options.spin = 0;
	machine_start(&sim->machine, false, 0);
	machine_connect(&sim->machine, &options);
	sim->queue = pvf_vbd_queue(sim->machine.vbd, 0);
	must(pvf_vbd_buffer(sim->queue, PVF_PAGE_SIZE, &sim->seg), "pvf_vbd_buffer");
	return sim;
}

void sim_blocking_run(struct sim_blocking *sim, uint32_t requests)
{
	for (uint32_t i = 0; i < requests; i++) {
		struct pvf_vbd_io io = {.sector = sim->sector, .segs = &sim->seg, .nr_segs = 1, .op = PVF_VBD_READ};
		struct pvf_vbd_done done = {.status = PVF_IO};
		int got;

		sim->sector = (sim->sector + BENCH_SECTORS) % (DISK_BYTES / PVF_WIRE_BLKIF_SECTOR);
		must(pvf_vbd_submit(sim->queue, &io, 1), "pvf_vbd_submit");
		pvf_vbd_push(sim->queue);
		do {
			got = pvf_vbd_wait(sim->queue, &done, 1, bench_now() + DEADLINE_NS);
		} while (got == PVF_AGAIN);
		must(got, "pvf_vbd_wait");
		must(done.status, "a read from the simulated disk");
	}
}

void sim_blocking_close(struct sim_blocking *sim)
{
	pvf_vbd_release(sim->queue, &sim->seg);
	machine_stop(&sim->machine);
	free(sim);
}
