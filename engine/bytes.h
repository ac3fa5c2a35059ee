/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Big-endian loads and stores at any alignment.
 *
 * The wire is big-endian and unaligned; everything else in the engine is host order and aligned.
 * This is the only file that crosses that border, so a missing swap has one place to hide.
 * memcpy of a constant size is one load or store to every compiler that we build with.
 */
#ifndef UROCE_BYTES_H
#define UROCE_BYTES_H

#include <stdint.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ || __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
	"uroce knows little-endian and big-endian hosts");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define UROCE_SWAP16(x)	   __builtin_bswap16(x)
#define UROCE_SWAP32(x)	   __builtin_bswap32(x)
#define UROCE_SWAP64(x)	   __builtin_bswap64(x)
#define UROCE_SWAP32_LE(x) (x)
#else
#define UROCE_SWAP16(x)	   (x)
#define UROCE_SWAP32(x)	   (x)
#define UROCE_SWAP64(x)	   (x)
#define UROCE_SWAP32_LE(x) __builtin_bswap32(x)
#endif

static inline uint16_t uroce_load_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return UROCE_SWAP16(v);
}

static inline uint32_t uroce_load_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t uroce_load_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return UROCE_SWAP32(v);
}

static inline uint64_t uroce_load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return UROCE_SWAP64(v);
}

static inline void uroce_store_be16(uint8_t *p, uint16_t v)
{
	v = UROCE_SWAP16(v);
	memcpy(p, &v, sizeof(v));
}

/* Stores the low 24 bits of v. */
static inline void uroce_store_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void uroce_store_be32(uint8_t *p, uint32_t v)
{
	v = UROCE_SWAP32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void uroce_store_be64(uint8_t *p, uint64_t v)
{
	v = UROCE_SWAP64(v);
	memcpy(p, &v, sizeof(v));
}

/* The ICRC alone goes out least significant byte first. */
static inline uint32_t uroce_load_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return UROCE_SWAP32_LE(v);
}

static inline void uroce_store_le32(uint8_t *p, uint32_t v)
{
	v = UROCE_SWAP32_LE(v);
	memcpy(p, &v, sizeof(v));
}

#endif
