/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Whether a packet's checksum is still to be finished by a device. In the stack, packets of this machine's own
 * namespaces come so: the field holds the sum of the pseudo header alone. It changes nothing. */
#ifndef STEELYARD_PARTIAL_H
#define STEELYARD_PARTIAL_H

#include "sums.h"

/* Bytes that are summed at once, and most bytes of a frame that is one packet: beyond, it stands for many. */
#define SUM_CHUNK 64
#define SUM_LIMIT 9216

struct summing {
	struct xdp_md *ctx;
	__u64 sum;
	__u32 at;
	__u32 left;
};

static long sum_step(__u32 i, void *context)
{
	struct summing *s = context;
	__be32 words[SUM_CHUNK / 4] = { 0 };
	__u32 size = s->left > SUM_CHUNK ? SUM_CHUNK : s->left;

	BOUND(size, 127);
	if (size == 0 || size > SUM_CHUNK || bpf_xdp_load_bytes(s->ctx, s->at, words, size))
		return 1;
	s->sum = bpf_csum_diff(NULL, 0, words, sizeof(words), s->sum);
	s->at += size;
	s->left -= size;
	return 0;
}

INLINE __u32 check_offset(const struct cursor *c)
{
	return is_tcp(c) ? 16 : 6;
}

INLINE int is_native(struct xdp_md *ctx)
{
	__u32 index = ctx->ingress_ifindex;
	struct interface *in = bpf_map_lookup_elem(&interfaces, &index);

	return in && in->flags & INTERFACE_NATIVE;
}

/* A whole checksum may by chance be the pseudo header's sum, so that the packet is summed to be sure. */
GLOBAL int surely_partial(struct xdp_md *ctx, struct cursor *c, __u64 head)
{
	struct summing s = { .ctx = ctx };

	if (!c || is_native(ctx) || c->marks & FIRST_FRAGMENT)
		return 0;
	s.at = c->l4;
	s.left = c->length - (c->l4 - c->l3);
	if (s.left > SUM_LIMIT)
		return 1;
	bpf_loop(SUM_LIMIT / SUM_CHUNK, sum_step, &s, 0);
	return folded(s.sum + head) != 0xffff;
}

INLINE int is_partial(struct xdp_md *ctx, struct cursor *c)
{
	__u16 *check;
	__u64 head;

	if (c->marks & LATER_FRAGMENT)
		return 0;
	check = bytes_at(ctx, c->l4 + check_offset(c), L4_MASK, 2);
	head = pseudo(&c->src, &c->dst, c->length - (c->l4 - c->l3), c->proto, c->family);
	if (likely(!check || *check != folded(head)))
		return 0;
	return surely_partial(ctx, c, head);
}

#endif
