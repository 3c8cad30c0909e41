/* SPDX-License-Identifier: MIT */
/*
 * Reads a disk image through the block protocol, with no hypervisor: the simulated Xen serves the image, libpvfront is the
 * frontend. Then it compares what came through the ring with what is in the file.
 *
 *	cc read-disk.c $(pkg-config --cflags --libs pvfront-sim pvfront) -o read-disk
 *	./read-disk disk.img
 */
#include <pvfront/pvfront.h>
#include <pvfront/sim_posix.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 65536u

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "read-disk: %s: %s\n", what, why);
	return 1;
}

/* Reads `bytes` at `sector` into the buffer, and waits for it. */
static int read_blocks(struct pvf_vbd_queue *queue, struct pvf_seg *buffer, uint64_t sector, uint32_t bytes)
{
	struct pvf_seg part = *buffer;
	struct pvf_vbd_io io = {.op = PVF_VBD_READ, .sector = sector, .segs = &part, .nr_segs = 1};
	struct pvf_vbd_done done;
	int n;

	part.length = bytes;
	n = pvf_vbd_submit(queue, &io, 1);
	if (n < 0)
		return n;
	pvf_vbd_push(queue);
	n = pvf_vbd_wait(queue, &done, 1, PVF_FOREVER);
	return n < 0 ? n : done.status;
}

/* The number of bytes that were read and are the file's, or -1 after saying what was wrong. */
static long long compare(struct pvf_vbd *vbd, FILE *file)
{
	static unsigned char expected[CHUNK];
	struct pvf_vbd_queue *queue = pvf_vbd_queue(vbd, 0);
	struct pvf_vbd_info info;
	struct pvf_seg buffer;
	uint64_t sector = 0;

	if (pvf_vbd_info(vbd, &info) < 0 || pvf_vbd_buffer(queue, CHUNK, &buffer) < 0)
		return fail("buffer", pvf_vbd_error(vbd)), -1;
	while (sector < info.sectors) {
		uint64_t left = (info.sectors - sector) * 512;
		uint32_t bytes = left < CHUNK ? (uint32_t)left : CHUNK;
		int status = read_blocks(queue, &buffer, sector, bytes);

		if (status != PVF_OK)
			return fail("read", pvf_status_text(status)), -1;
		if (fread(expected, 1, bytes, file) != bytes || memcmp(expected, pvf_seg_data(&buffer), bytes) != 0) {
			fprintf(stderr, "read-disk: sectors from %llu on differ\n", (unsigned long long)sector);
			return -1;
		}
		sector += bytes / 512;
	}
	pvf_vbd_release(queue, &buffer);
	return (long long)(sector * 512);
}

int main(int argc, char **argv)
{
	struct pvf_sim_setup setup = {.image = argv[argc - 1], .read_only = true, .vbd = {.backend_persistent = true}};
	struct pvf_vbd_options options = PVF_VBD_OPTIONS;
	struct pvf_sim_machine machine;
	struct pvf_vbd *vbd;
	char why[256] = "";
	long long bytes;
	FILE *file;

	if (argc != 2)
		return fail("usage", "read-disk IMAGE");
	if (pvf_sim_open(&setup, &machine, why, sizeof(why)) < 0)
		return fail("the simulated machine", why);
	if (pvf_vbd_open(pvf_sim_host(&machine), pvf_sim_vbd_path(machine.vbd), &options, &vbd) < 0)
		return fail("open", "no memory");
	if (pvf_vbd_connect(vbd) < 0)
		return fail("connect", pvf_vbd_error(vbd));
	file = fopen(argv[1], "rb");
	bytes = file ? compare(vbd, file) : -1;
	if (file)
		fclose(file);
	pvf_vbd_close(vbd);
	pvf_sim_close(&machine);
	if (bytes < 0)
		return 1;
	printf("read-disk: %lld bytes read through the ring, all as in %s\n", bytes, argv[1]);
	return 0;
}
