/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Internet checksums (RFC 1071) and their change (RFC 1624). It reads no packet. */
#ifndef STEELYARD_SUMS_H
#define STEELYARD_SUMS_H

#include "cursor.h"

/* Sums of what goes and what comes, in one's complement; words in network order as they lie. */
INLINE __u64 swapped(__u64 sum, __u32 old, __u32 new)
{
	return sum + (__u32)~old + new;
}

INLINE __u64 swapped16(__u64 sum, __u16 old, __u16 new)
{
	return sum + (__u16)~old + new;
}

INLINE __u16 folded(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* A checksum after a change (RFC 1624, equation 3). */
INLINE __u16 adjusted(__u16 check, __u64 sum)
{
	return ~folded(sum + (__u16)~check);
}

/* Hop limit and protocol of a header of IPv4, as they are summed, with one hop taken of those that are left. Not read
 * back from the packet: a processor waits for bytes that it has just written in other sizes. */
INLINE __be16 one_hop_less(__be16 hop)
{
	return bpf_htons(bpf_ntohs(hop) - 0x100);
}

/* The sum of a pseudo header, in network order (RFC 8200 §8.1, RFC 9293 §3.1). */
INLINE __u64 pseudo(const struct addr *a, const struct addr *b, __u32 length, __u32 proto, int family)
{
	__u64 sum = (__u64)bpf_htonl(length) + bpf_htonl(proto);

	if (family == 4)
		return sum + a->w[3] + b->w[3];
#pragma unroll
	for (int i = 0; i < 4; i++)
		sum += (__u64)a->w[i] + b->w[i];
	return sum;
}

#endif
