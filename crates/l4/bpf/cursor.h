/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The cursor: what is known of the packet so far. It travels through every verb; bytes of the packet are always taken
 * anew from the context, so no pointer goes stale when the packet changes. */
#ifndef STEELYARD_CURSOR_H
#define STEELYARD_CURSOR_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include "maps.h"

#define INLINE static __always_inline
/* Verified by itself, once, whatever calls it: for what is off the hot path or has many branches. */
#define GLOBAL __attribute__((noinline))

#ifndef likely
#define likely(x) (__builtin_expect(!!(x), 1))
#define unlikely(x) (__builtin_expect(!!(x), 0))
#endif

/* `process_packet` goes on with the next verb; no XDP verdict has this number. */
#define GO_ON -1
/* The packet is for whoever is next on this interface. */
#define PASS_ON -2

/* An address as four words in network order; IPv4 is mapped. */
struct addr {
	__u32 w[4];
};

#define MAPPED bpf_htonl(0xffff)

/* Bits of `cursor.tcp`, as in the header's byte 13. */
#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16

/* Bits of `cursor.marks`. */
#define FIRST_FRAGMENT 1
#define LATER_FRAGMENT 2
#define DONT_FRAGMENT 4
/* The client's ACK brought a cookie back, and has become a SYN. */
#define WITH_COOKIE 8
/* Who sticks to the servers of its service is noted. */
#define NOTES_STICKY 16

struct cursor {
	struct addr src;
	struct addr dst;
	/* Clock in ns, and in ticks. */
	__u64 ns;
	__u32 tick;
	/* Offsets of the IP header and of what follows it. */
	__u32 l3;
	__u32 l4;
	/* Length of the IP packet by its header. */
	__u32 length;
	__be16 sport;
	__be16 dport;
	/* 4, 6, or 0 for neither. */
	__u8 family;
	__u8 proto;
	__u8 tcp;
	__u8 marks;
	__u8 tos;
	__u8 ttl;
	/* Bytes of the TCP header. */
	__u8 tcp_size;
	__u8 pad;
	__u32 fragment_id;
	/* TCP's sequence number, in host order. */
	__u32 seq;
	__u32 service;
	__u32 server;
	__u32 record;
	/* 1 + the client's entry in `per_client`, where a new connection is counted; 0 where none is. */
	__u32 per_client;
	/* The cookie, with `WITH_COOKIE`. */
	__u32 cookie;
	/* 1 + what the connection drew, of 2^31, where it has no record; 0 for nothing. */
	__u32 sample_draw;
	/* The frame's source address as a number, where `SERVICE_LINK_SOURCE` is set. */
	__u64 link_source;
};

/* Makes the verifier believe a bound that the compiler would optimise away. `m` is 2^n-1. */
#define BOUND(x, m) asm volatile("%0 &= %1" : "+r"(x) : "i"(m))

/* The highest offsets that parsing can give. */
#define L3_MASK 31
#define L4_MASK 511

/* `size` bytes of the packet at `offset`, masked by `mask`; NULL when the packet ends before. */
#define bytes_at(ctx, offset, mask, size)                                    \
	({                                                                   \
		__u64 at_ = (offset);                                        \
		BOUND(at_, mask);                                            \
		void *here_ = (void *)(long)(ctx)->data + at_;               \
		here_ + (size) > (void *)(long)(ctx)->data_end ? NULL : here_; \
	})

#ifndef NULL
#define NULL ((void *)0)
#endif

INLINE int same(const struct addr *a, const struct addr *b)
{
	return a->w[0] == b->w[0] && a->w[1] == b->w[1] && a->w[2] == b->w[2] && a->w[3] == b->w[3];
}

/* Whether it is an IPv4 address. */
INLINE int is_mapped(const struct addr *a)
{
	return a->w[2] == MAPPED && !a->w[0] && !a->w[1];
}

INLINE void copy16(struct addr *to, const void *from)
{
	const __u32 *words = from;

	to->w[0] = words[0];
	to->w[1] = words[1];
	to->w[2] = words[2];
	to->w[3] = words[3];
}

INLINE int is_tcp(const struct cursor *c)
{
	return c->proto == IPPROTO_TCP;
}

/* Takes the frame's source address, the first byte highest. */
INLINE void read_link_source(struct xdp_md *ctx, struct cursor *c)
{
	__u8 *from = bytes_at(ctx, 6, 15, 6);

	if (from)
		c->link_source = (__u64)from[0] << 40 | (__u64)from[1] << 32 | (__u64)from[2] << 24 | from[3] << 16 |
				 from[4] << 8 | from[5];
}

/* A SYN that opens a connection. */
INLINE int opens(const struct cursor *c)
{
	return is_tcp(c) && (c->tcp & (SYN | ACK | RST | FIN)) == SYN;
}

#endif
