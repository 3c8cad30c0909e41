/* SPDX-License-Identifier: MIT */
/* Recognises what must not be overwritten by a test: file systems, partition tables, volumes, image formats. */
#ifndef SIGNATURE_H
#define SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

/* How much of a device's beginning signature_find wants to see. */
#define SIGNATURE_BYTES 135168u

/* The name of what is in a device's first bytes ("an ext2/3/4 file system"), NULL: nothing known. */
const char *signature_find(const uint8_t *data, size_t length);

/* How much of its end signature_find_last wants to see. */
#define SIGNATURE_END_BYTES 131072u

/*
 * The same for a device's last bytes, of `device_bytes` in all: a GPT keeps its second header in the last sector (UEFI 2.10,
 * 5.3.2), a Linux RAID of the older formats its superblock near the end.
 */
const char *signature_find_last(const uint8_t *data, size_t length, uint64_t device_bytes);

#endif
