/* SPDX-License-Identifier: MIT */
/* All in one: a machine with one vbd over an image. */
#include <pvfront/sim_posix.h>

#include <stdio.h>
#include <string.h>

#define FRONTEND_DOMAIN 1

static int explain(char *why, size_t capacity, int status, const char *what)
{
	if (why && capacity)
		snprintf(why, capacity, "%s: %s", what, pvf_status_text(status));
	return status;
}

static bool is_fault(const char *fault)
{
	size_t length = strcspn(fault, "@");
	const char *number = fault + length;

	for (const struct pvf_sim_fault_name *name = pvf_sim_fault_names; name->name; name++) {
		if (strlen(name->name) != length || memcmp(name->name, fault, length) != 0)
			continue;
		return !*number ||
		       (number[1] > '0' && number[1] <= '9' && strspn(number + 1, "0123456789") == strlen(number + 1));
	}
	return false;
}

static bool is_sector_size(uint32_t bytes)
{
	return bytes >= 512 && !(bytes & (bytes - 1));
}

/* Attach can only say that something is wrong with its options; here is what. */
static int refuse(const struct pvf_sim_setup *setup, int status, char *why, size_t capacity)
{
	const struct pvf_sim_vbd_options *vbd = &setup->vbd;
	uint32_t logical = vbd->sector_size ? vbd->sector_size : 512;
	uint32_t physical = vbd->physical_sector_size ? vbd->physical_sector_size : logical;

	if (!why || !capacity)
		return status;
	explain(why, capacity, status, "the simulated vbd cannot be made");
	if (vbd->fault && !is_fault(vbd->fault))
		snprintf(why, capacity, "%s is no fault of the simulated backend; give NAME or NAME@N, N from 1",
			 vbd->fault);
	else if (!is_sector_size(logical))
		snprintf(why, capacity, "%u is no sector size; give a power of two from 512", logical);
	else if (!is_sector_size(physical) || physical < logical)
		snprintf(why, capacity, "%u is no physical sector size; give a power of two from %u", physical,
			 logical);
	else if (status == PVF_ALIGN)
		snprintf(why, capacity, "%s is no multiple of %u bytes long; give another sector size", setup->image,
			 logical);
	else if (status == PVF_STORE_TOO_BIG)
		snprintf(why, capacity,
			 "a backend key and its value do not fit one xenstore message of 4096 bytes; make it shorter");
	for (uint32_t i = 0; i < vbd->nr_backend_keys; i++)
		if (!strchr(vbd->backend_keys[i], '=') || vbd->backend_keys[i][0] == '=')
			snprintf(why, capacity, "%s is no backend key; give KEY=VALUE, or KEY= to remove it",
				 vbd->backend_keys[i]);
	return status;
}

static int attach(struct pvf_sim_machine *machine, const struct pvf_sim_setup *setup, char *why, size_t capacity)
{
	struct pvf_sim_vbd_options options = setup->vbd;
	int status;

	options.size = sizeof(options);
	options.frontend_domid = FRONTEND_DOMAIN;
	options.backend_domid = 0;
	options.disk = &machine->disk;
	status = pvf_sim_vbd_attach(machine->sim, &options, &machine->vbd);
	return status == PVF_OK ? status : refuse(setup, status, why, capacity);
}

int pvf_sim_open(const struct pvf_sim_setup *setup, struct pvf_sim_machine *machine, char *why, size_t capacity)
{
	struct pvf_sim_options options = setup->sim;
	int status;

	memset(machine, 0, sizeof(*machine));
	options.size = sizeof(options);
	if (!options.platform)
		options.platform = pvf_sim_posix_platform();
	status = pvf_sim_posix_disk(setup->image, setup->read_only, &machine->disk, why, capacity);
	if (status != PVF_OK)
		return status;
	status = pvf_sim_create(&options, &machine->sim);
	if (status != PVF_OK)
		explain(why, capacity, status, "the simulated machine cannot be made");
	if (status == PVF_OK) {
		status = pvf_sim_domain_create(machine->sim, FRONTEND_DOMAIN, &machine->guest);
		if (status != PVF_OK)
			explain(why, capacity, status, "the frontend's domain cannot be made");
	}
	if (status == PVF_OK)
		status = attach(machine, setup, why, capacity);
	if (status != PVF_OK)
		pvf_sim_close(machine);
	return status;
}

void pvf_sim_close(struct pvf_sim_machine *machine)
{
	if (machine->vbd)
		pvf_sim_vbd_detach(machine->vbd);
	if (machine->sim)
		pvf_sim_destroy(machine->sim);
	if (machine->disk.close)
		machine->disk.close(machine->disk.ctx);
	memset(machine, 0, sizeof(*machine));
}
