/* SPDX-License-Identifier: MIT */
/* The disks of the simulated backend, and what a person is told about one that cannot be used. */
#define _GNU_SOURCE
#include "check.h"

#include <pvfront/sim_posix.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64];
static char image[128];

static int setup(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/pvfront-disk-XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(image, sizeof(image), "%s/disk.img", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(image);
	return rmdir(directory);
}

static void make_image(off_t bytes, mode_t mode)
{
	int file = open(image, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, bytes), 0);
	assert_int_equal(fchmod(file, mode), 0);
	close(file);
}

static void refused(const char *path, int status, const char *reason)
{
	struct pvf_sim_disk disk;
	char why[256] = "";

	assert_int_equal(pvf_sim_posix_disk(path, false, &disk, why, sizeof(why)), status);
	assert_memory_equal(why, path, strlen(path));
	if (!strstr(why, reason))
		fail_msg("'%s' does not say '%s'", why, reason);
	/* And without room for the sentence. */
	assert_int_equal(pvf_sim_posix_disk(path, false, &disk, NULL, 0), status);
}

static void refuses_what_is_no_disk(void **state)
{
	(void)state;
	refused(image, PVF_INVALID, "does not exist");
	refused(directory, PVF_INVALID, "is a directory");
	refused("/dev/null", PVF_INVALID, "neither a file nor a block device");
	make_image(0, 0600);
	refused(image, PVF_INVALID, "is empty");
	make_image(513, 0600);
	refused(image, PVF_ALIGN, "no multiple of 512");
	unlink(image);
	assert_int_equal(mkfifo(image, 0600), 0);
	refused(image, PVF_INVALID, "neither a file nor a block device");
}

static void reads_and_writes_a_file(void **state)
{
	struct pvf_sim_disk disk;
	char data[1024], back[1024];
	char why[64];

	(void)state;
	make_image(8192, 0600);
	assert_int_equal(pvf_sim_posix_disk(image, false, &disk, why, sizeof(why)), PVF_OK);
	assert_false(disk.read_only);
	assert_int_equal(disk.bytes, 8192);
	memset(data, 'x', sizeof(data));
	assert_int_equal(disk.write(disk.ctx, 7168, data, sizeof(data)), PVF_OK);
	assert_int_equal(disk.flush(disk.ctx), PVF_OK);
	assert_int_equal(disk.read(disk.ctx, 7168, back, sizeof(back)), PVF_OK);
	assert_memory_equal(data, back, sizeof(data));
	/* Cut short under us: an error, not old bytes. */
	assert_int_equal(truncate(image, 4096), 0);
	assert_int_equal(disk.read(disk.ctx, 7168, back, sizeof(back)), PVF_IO);
	disk.close(disk.ctx);
}

static void assert_read_only(bool asked)
{
	struct pvf_sim_disk disk;
	struct stat status;
	char sector[512] = {1};
	char why[64];

	assert_int_equal(pvf_sim_posix_disk(image, asked, &disk, why, sizeof(why)), PVF_OK);
	assert_true(disk.read_only);
	assert_int_equal(disk.write(disk.ctx, 0, sector, sizeof(sector)), PVF_READ_ONLY);
	assert_int_equal(disk.flush(disk.ctx), PVF_OK);
	assert_int_equal(disk.read(disk.ctx, 0, sector, sizeof(sector)), PVF_OK);
	assert_int_equal(sector[0], 0);
	disk.close(disk.ctx);
	assert_int_equal(stat(image, &status), 0);
	assert_int_equal(status.st_size, 1024);
}

static void read_only_when_asked_or_forced(void **state)
{
	(void)state;
	make_image(1024, 0600);
	assert_read_only(true);
	make_image(1024, 0400);
	assert_read_only(false);
}

static void ramdisk(void **state)
{
	struct pvf_sim_disk disk;
	char data[512], back[512] = {1};

	(void)state;
	assert_int_equal(pvf_sim_posix_ramdisk(1000, &disk), PVF_INVALID);
	assert_int_equal(pvf_sim_posix_ramdisk(0, &disk), PVF_INVALID);
	assert_int_equal(pvf_sim_posix_ramdisk(1 << 20, &disk), PVF_OK);
	assert_int_equal(disk.read(disk.ctx, (1 << 20) - 512, back, 512), PVF_OK);
	memset(data, 0, sizeof(data));
	assert_memory_equal(data, back, 512);
	memset(data, 9, sizeof(data));
	assert_int_equal(disk.write(disk.ctx, 512, data, 512), PVF_OK);
	assert_int_equal(disk.flush(disk.ctx), PVF_OK);
	assert_int_equal(disk.read(disk.ctx, 512, back, 512), PVF_OK);
	assert_memory_equal(data, back, 512);
	disk.close(disk.ctx);
}

static void not_opened(struct pvf_sim_setup wrong, const char *reason)
{
	struct pvf_sim_machine machine;
	char why[256] = "";

	wrong.image = image;
	assert_true(pvf_sim_open(&wrong, &machine, why, sizeof(why)) < 0);
	assert_null(machine.sim);
	if (!strstr(why, reason))
		fail_msg("'%s' does not say '%s'", why, reason);
}

static void open_names_what_is_wrong(void **state)
{
	static const char *const no_value[] = {"info=1", "sectors"};
	struct pvf_sim_setup wrong = {.vbd = {.sector_size = 1000}};
	struct pvf_sim_machine machine;

	(void)state;
	not_opened(wrong, "does not exist");
	make_image(4096 + 512, 0600);
	not_opened(wrong, "1000 is no sector size");
	wrong.vbd.sector_size = 4096;
	not_opened(wrong, "is no multiple of 4096 bytes");
	wrong.vbd.sector_size = 0;
	wrong.vbd.physical_sector_size = 700;
	not_opened(wrong, "700 is no physical sector size");
	wrong.vbd.physical_sector_size = 0;
	wrong.vbd.fault = "explode";
	not_opened(wrong, "explode is no fault");
	wrong.vbd.fault = "die@";
	not_opened(wrong, "die@ is no fault");
	wrong.vbd.fault = "die@3";
	wrong.vbd.backend_keys = no_value;
	wrong.vbd.nr_backend_keys = 2;
	not_opened(wrong, "sectors is no backend key");
	wrong.vbd.nr_backend_keys = 1;
	wrong.image = image;
	assert_int_equal(pvf_sim_open(&wrong, &machine, NULL, 0), PVF_OK);
	assert_string_equal(pvf_sim_vbd_path(machine.vbd), "device/vbd/51712");
	assert_non_null(pvf_sim_host(&machine));
	pvf_sim_close(&machine);
}

#define DISK(function, rows, sentence) PVF_TEST_WITH(function, setup, teardown, rows, "sim", sentence)

static const struct pvf_test tests[] = {
	DISK(refuses_what_is_no_disk, "V01", "an image that is no disk is refused in a sentence that names it"),
	DISK(reads_and_writes_a_file, "V01",
	     "a disk over a file reads back what was written, and fails when it is cut"),
	DISK(read_only_when_asked_or_forced, "V01", "an image that may not be written is served read-only"),
	DISK(ramdisk, "V01", "a disk in memory starts with zeroes and holds what is written"),
	DISK(open_names_what_is_wrong, "V01", "a simulated machine that cannot be made says why"),
};

int main(void)
{
	return pvf_run_tests("sim", tests, sizeof(tests) / sizeof(tests[0]));
}
