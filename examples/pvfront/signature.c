/* SPDX-License-Identifier: MIT */
#include "signature.h"

#include <stdbool.h>
#include <string.h>

struct signature {
	uint32_t offset;
	uint32_t length;
	const char *bytes;
	const char *name;
};

/*
 * The more telling come first: a FAT or NTFS boot sector ends like an MBR. The GPT header is the second logical sector,
 * whose offset is the sector size.
 */
static const struct signature signatures[] = {
	{0x200, 8, "EFI PART", "a GPT partition table"},
	{0x400, 8, "EFI PART", "a GPT partition table of 1024-byte sectors"},
	{0x800, 8, "EFI PART", "a GPT partition table of 2048-byte sectors"},
	{0x1000, 8, "EFI PART", "a GPT partition table of 4096-byte sectors"},
	{0x200, 4, "PM\0\0", "an Apple partition map"},
	{0x1fc, 2, "\xda\xbe", "a Sun disk label"},
	{0x200, 4, "\x57\x45\x56\x82", "a BSD disk label"},
	{0x040, 4, "\x57\x45\x56\x82", "a BSD disk label"},
	{0x255c, 4, "\x54\x19\x01\x00", "a UFS1 file system"},
	{0x1055c, 4, "\x19\x01\x54\x19", "a UFS2 file system"},
	{0x20000, 8, "\x0c\xb1\xba\0\0\0\0\0", "a member of a ZFS pool"},
	{0x438, 2, "\x53\xef", "an ext2/3/4 file system"},
	{0, 4, "XFSB", "an XFS file system"},
	{0x10040, 8, "_BHRfS_M", "a btrfs file system"},
	{0x400, 4, "\x10\x20\xf5\xf2", "an F2FS file system"},
	{3, 8, "NTFS    ", "an NTFS file system"},
	{3, 8, "EXFAT   ", "an exFAT file system"},
	{54, 5, "FAT12", "a FAT file system"},
	{54, 5, "FAT16", "a FAT file system"},
	{82, 5, "FAT32", "a FAT file system"},
	{0x8001, 5, "CD001", "an ISO 9660 file system"},
	{0x8001, 5, "BEA01", "a UDF file system"},
	{0xff6, 10, "SWAPSPACE2", "swap space"},
	{0xff6, 10, "SWAP-SPACE", "swap space"},
	{0xfff6, 10, "SWAPSPACE2", "swap space"},
	{0, 6, "LUKS\xba\xbe", "a LUKS volume"},
	{0x018, 8, "LVM2 001", "an LVM2 physical volume"},
	{0x218, 8, "LVM2 001", "an LVM2 physical volume"},
	{0x418, 8, "LVM2 001", "an LVM2 physical volume"},
	{0x618, 8, "LVM2 001", "an LVM2 physical volume"},
	{0x0, 4, "\xfc\x4e\x2b\xa9", "a member of a Linux RAID"},
	{0x1000, 4, "\xfc\x4e\x2b\xa9", "a member of a Linux RAID"},
	{0, 4, "QFI\xfb", "a qcow2 image"},
	{0, 4, "hsqs", "a squashfs file system"},
	{0, 4, "KDMV", "a VMDK image"},
	{0, 8, "conectix", "a VHD image"},
	{0, 8, "vhdxfile", "a VHDX image"},
	{0x1fe, 2, "\x55\xaa", "an MBR partition table or boot sector"},
};

const char *signature_find(const uint8_t *data, size_t length)
{
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		const struct signature *row = &signatures[i];

		if ((size_t)row->offset + row->length <= length &&
		    memcmp(data + row->offset, row->bytes, row->length) == 0)
			return row->name;
	}
	return NULL;
}

/* Where the end formats begin, from a device's size: GPT for two sector sizes, md 0.90, md 1.0 (Linux: md_p.h). */
static uint64_t gpt_512(uint64_t bytes)
{
	return bytes - 512;
}

static uint64_t gpt_4096(uint64_t bytes)
{
	return bytes - 4096;
}

static uint64_t md_0_90(uint64_t bytes)
{
	return (bytes & ~(uint64_t)0xffff) - 0x10000;
}

static uint64_t md_1_0(uint64_t bytes)
{
	return (bytes / 512 - 16) / 8 * 8 * 512;
}

static const struct {
	uint64_t (*at)(uint64_t bytes);
	uint32_t length;
	const char *bytes;
	const char *name;
} end_signatures[] = {
	{gpt_512, 8, "EFI PART", "the second header of a GPT partition table"},
	{gpt_4096, 8, "EFI PART", "the second header of a GPT partition table"},
	{md_0_90, 4, "\xfc\x4e\x2b\xa9", "a member of a Linux RAID"},
	{md_1_0, 4, "\xfc\x4e\x2b\xa9", "a member of a Linux RAID"},
};

const char *signature_find_last(const uint8_t *data, size_t length, uint64_t device_bytes)
{
	uint64_t first = device_bytes - length;

	for (size_t i = 0; i < sizeof(end_signatures) / sizeof(end_signatures[0]); i++) {
		/* On a device too small for it the place wraps, and is outside. */
		uint64_t at = end_signatures[i].at(device_bytes) - first;

		if (at < length && end_signatures[i].length <= length - at &&
		    memcmp(data + at, end_signatures[i].bytes, end_signatures[i].length) == 0)
			return end_signatures[i].name;
	}
	return NULL;
}
