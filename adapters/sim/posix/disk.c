/* SPDX-License-Identifier: MIT */
/* Disks for the reference backend: a file or block device, and memory. */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64

#include <pvfront/sim_posix.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTOR 512

/* ---- a file ---- */

static int file_of(void *ctx)
{
	return (int)(intptr_t)ctx;
}

static int file_read(void *ctx, uint64_t offset, void *data, uint32_t bytes)
{
	uint8_t *to = data;

	while (bytes) {
		ssize_t n = pread(file_of(ctx), to, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		/* 0: somebody has cut the file short under us. */
		if (n <= 0)
			return PVF_IO;
		to += n;
		offset += (uint64_t)n;
		bytes -= (uint32_t)n;
	}
	return PVF_OK;
}

static int file_write(void *ctx, uint64_t offset, const void *data, uint32_t bytes)
{
	const uint8_t *from = data;

	while (bytes) {
		ssize_t n = pwrite(file_of(ctx), from, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return PVF_IO;
		from += n;
		offset += (uint64_t)n;
		bytes -= (uint32_t)n;
	}
	return PVF_OK;
}

static int refuse_write(void *ctx, uint64_t offset, const void *data, uint32_t bytes)
{
	(void)ctx;
	(void)offset;
	(void)data;
	(void)bytes;
	return PVF_READ_ONLY;
}

static int file_flush(void *ctx)
{
	return fdatasync(file_of(ctx)) == 0 ? PVF_OK : PVF_IO;
}

static int nothing_to_flush(void *ctx)
{
	(void)ctx;
	return PVF_OK;
}

static void file_close(void *ctx)
{
	close(file_of(ctx));
}

/* What the caller of pvf_sim_posix_disk reads when it is refused. */
struct reason {
	char *text;
	size_t capacity;
	const char *path;
};

static int refuse(const struct reason *reason, int status, const char *text)
{
	if (reason->text && reason->capacity)
		snprintf(reason->text, reason->capacity, "%s %s", reason->path, text);
	return status;
}

static int refuse_errno(const struct reason *reason, int error)
{
	char text[160];

	if (error == ENOENT)
		return refuse(reason, PVF_INVALID, "does not exist; give the path of a disk image");
	if (error == EACCES || error == EPERM)
		return refuse(reason, PVF_INVALID, "cannot be read; give yourself read permission, or another image");
	snprintf(text, sizeof(text), "cannot be opened (%s)", strerror(error));
	return refuse(reason, PVF_IO, text);
}

/* The size in bytes, or a negative status. */
static int64_t size_of(int file, const struct stat *status, const struct reason *reason)
{
	off_t bytes;

	if (S_ISDIR(status->st_mode))
		return refuse(reason, PVF_INVALID, "is a directory; give the path of a disk image");
	if (!S_ISREG(status->st_mode) && !S_ISBLK(status->st_mode))
		return refuse(reason, PVF_INVALID,
			      "is neither a file nor a block device; give the path of a disk image");
	bytes = lseek(file, 0, SEEK_END);
	if (bytes < 0)
		return refuse(reason, PVF_IO, "has no size that can be found out; give the path of a disk image");
	if (bytes == 0)
		return refuse(reason, PVF_INVALID, "is empty; make it larger first, as with: truncate -s 64M FILE");
	if (bytes % SECTOR)
		return refuse(reason, PVF_ALIGN,
			      "is no multiple of 512 bytes long; round it up, as with: truncate -s %512 FILE");
	return (int64_t)bytes;
}

/*
 * Opens for reading and writing when asked, and when the file allows it. A file without any write permission is left alone
 * by the superuser too.
 */
static int open_file(const char *path, bool *read_only)
{
	struct stat status;
	int file;

	/* Non-blocking, or a FIFO without a writer would hold us up. */
	if (!*read_only && stat(path, &status) == 0 && (S_ISBLK(status.st_mode) || (status.st_mode & 0222))) {
		file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (file >= 0 ||
		    (errno != EACCES && errno != EPERM && errno != EROFS && errno != ETXTBSY && errno != EISDIR))
			return file;
	}
	*read_only = true;
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int pvf_sim_posix_disk(const char *path, bool read_only, struct pvf_sim_disk *disk, char *why, size_t capacity)
{
	struct reason reason = {why, capacity, path};
	struct stat status;
	int64_t bytes;
	int file = open_file(path, &read_only);

	if (file < 0)
		return refuse_errno(&reason, errno);
	bytes = fstat(file, &status) == 0 ? size_of(file, &status, &reason) : refuse_errno(&reason, errno);
	if (bytes < 0) {
		close(file);
		return (int)bytes;
	}
	*disk = (struct pvf_sim_disk){
		.size = sizeof(*disk),
		.read_only = read_only,
		.bytes = (uint64_t)bytes,
		.ctx = (void *)(intptr_t)file,
		.read = file_read,
		.write = read_only ? refuse_write : file_write,
		.flush = read_only ? nothing_to_flush : file_flush,
		.close = file_close,
	};
	return PVF_OK;
}

/* ---- memory ---- */

struct ramdisk {
	uint8_t *memory;
	uint64_t bytes;
};

static int ram_read(void *ctx, uint64_t offset, void *data, uint32_t bytes)
{
	const struct ramdisk *ram = ctx;

	memcpy(data, ram->memory + offset, bytes);
	return PVF_OK;
}

static int ram_write(void *ctx, uint64_t offset, const void *data, uint32_t bytes)
{
	const struct ramdisk *ram = ctx;

	memcpy(ram->memory + offset, data, bytes);
	return PVF_OK;
}

static void ram_close(void *ctx)
{
	struct ramdisk *ram = ctx;

	munmap(ram->memory, (size_t)ram->bytes);
	free(ram);
}

int pvf_sim_posix_ramdisk(uint64_t bytes, struct pvf_sim_disk *disk)
{
	struct ramdisk *ram;

	if (!bytes || bytes % SECTOR || bytes > SIZE_MAX)
		return PVF_INVALID;
	ram = malloc(sizeof(*ram));
	if (!ram)
		return PVF_NO_MEMORY;
	ram->bytes = bytes;
	ram->memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ram->memory == MAP_FAILED) {
		free(ram);
		return PVF_NO_MEMORY;
	}
	*disk = (struct pvf_sim_disk){
		.size = sizeof(*disk),
		.bytes = bytes,
		.ctx = ram,
		.read = ram_read,
		.write = ram_write,
		.flush = nothing_to_flush,
		.close = ram_close,
	};
	return PVF_OK;
}
