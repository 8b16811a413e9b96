/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* SipHash-2-4, and the published hash of a client's address: with the fixed key `steelyard-maglev`, the same numbers as
 * `model::hash::client`, so that all planes and members agree. */
#ifndef STEELYARD_HASH_H
#define STEELYARD_HASH_H

#include "cursor.h"

#define ROTATE(x, n) ((x) << (n) | (x) >> (64 - (n)))

struct sip {
	__u64 v[4];
};

INLINE void sip_round(struct sip *s)
{
	s->v[0] += s->v[1];
	s->v[1] = ROTATE(s->v[1], 13) ^ s->v[0];
	s->v[0] = ROTATE(s->v[0], 32);
	s->v[2] += s->v[3];
	s->v[3] = ROTATE(s->v[3], 16) ^ s->v[2];
	s->v[0] += s->v[3];
	s->v[3] = ROTATE(s->v[3], 21) ^ s->v[0];
	s->v[2] += s->v[1];
	s->v[1] = ROTATE(s->v[1], 17) ^ s->v[2];
	s->v[2] = ROTATE(s->v[2], 32);
}

INLINE void sip_keyed(struct sip *s, __u64 k0, __u64 k1)
{
	s->v[0] = 0x736f6d6570736575ULL ^ k0;
	s->v[1] = 0x646f72616e646f6dULL ^ k1;
	s->v[2] = 0x6c7967656e657261ULL ^ k0;
	s->v[3] = 0x7465646279746573ULL ^ k1;
}

INLINE void sip_word(struct sip *s, __u64 word)
{
	s->v[3] ^= word;
	sip_round(s);
	sip_round(s);
	s->v[0] ^= word;
}

INLINE __u64 sip_sum(struct sip *s)
{
	s->v[2] ^= 0xff;
	sip_round(s);
	sip_round(s);
	sip_round(s);
	sip_round(s);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* The message is the address and the tag 2 of clients; the last word carries its length (5 or 17) on top. */
GLOBAL __u64 client_hash(const struct addr *a)
{
	/* The key's bytes, little-endian. */
	const __u64 k0 = 0x7261796c65657473ULL, k1 = 0x76656c67616d2d64ULL;
	struct sip s = { { 0 } };

	if (!a)
		return 0;
	sip_keyed(&s, k0, k1);
	if (a->w[0] == 0 && a->w[1] == 0 && a->w[2] == MAPPED) {
		sip_word(&s, 5ULL << 56 | 2ULL << 32 | a->w[3]);
	} else {
		sip_word(&s, (__u64)a->w[1] << 32 | a->w[0]);
		sip_word(&s, (__u64)a->w[3] << 32 | a->w[2]);
		sip_word(&s, 17ULL << 56 | 2);
	}
	return sip_sum(&s);
}

/* The address with all but its first bits cleared. `bits4` and `bits6` count bits of the family. */
GLOBAL int masked(struct addr *out, const struct addr *in, __u32 bits4, __u32 bits6)
{
	__u32 bits;

	if (!out || !in)
		return 0;
	bits = in->w[2] == MAPPED && !in->w[0] && !in->w[1] ? 96 + bits4 : bits6;
#pragma unroll
	for (__u32 i = 0; i < 4; i++) {
		__u32 first = i * 32;

		if (bits >= first + 32)
			out->w[i] = in->w[i];
		else if (bits <= first)
			out->w[i] = 0;
		else
			out->w[i] = in->w[i] & bpf_htonl(~0U << ((32 - (bits - first)) & 31));
	}
	return 1;
}

#endif
