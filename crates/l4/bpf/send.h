/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Sends a packet on its way: writes the link addresses and names the interface. Ways come from user space; where one
 * is not known the kernel's own tables are asked. */
#ifndef STEELYARD_SEND_H
#define STEELYARD_SEND_H

#include "count.h"

#ifndef AF_INET
#define AF_INET 2
#endif
#ifndef AF_INET6
#define AF_INET6 10
#endif

/* Asks the kernel for the way to `to`; 0 when it has it, else what it said (`BPF_FIB_LKUP_RET_…`). */
GLOBAL int ask_kernel(struct xdp_md *ctx, struct cursor *c, const struct addr *to, struct next_hop *next_hop)
{
	struct bpf_fib_lookup fib = { 0 };
	int result;

	if (!to || !next_hop || !c)
		return -1;
	fib.ifindex = ctx->ingress_ifindex;
	if (to->w[2] == MAPPED && !to->w[0] && !to->w[1]) {
		fib.family = AF_INET;
		fib.ipv4_dst = to->w[3];
	} else {
		fib.family = AF_INET6;
		copy16((struct addr *)fib.ipv6_dst, to);
	}
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return result ? result : -1;
	__builtin_memcpy(next_hop->to, fib.dmac, 6);
	__builtin_memcpy(next_hop->from, fib.smac, 6);
	next_hop->ifindex = fib.ifindex;
	/* The route's, where the kernel says it (since Linux 5.13). */
	next_hop->mtu = fib.mtu_result;
	next_hop->state = NEXT_HOP_OK;
	return 0;
}

/* The way to a server; 0 when there is none, and user space is told. */
INLINE int next_hop_to(struct xdp_md *ctx, struct cursor *c, const struct server *server, struct next_hop *next_hop)
{
	struct next_hop *known = entry(next_hops, server->next_hop);

	if (likely(known && known->state == NEXT_HOP_OK)) {
		*next_hop = *known;
		return 1;
	}
	if (ask_kernel(ctx, c, (const struct addr *)server->addr, next_hop) == 0)
		return 1;
	send_event(c, EVENT_NEIGHBOUR, 0, (const struct addr *)server->addr);
	return 0;
}

/* Writes the link addresses and leaves. */
INLINE int write_link_and_send(struct xdp_md *ctx, const struct next_hop *next_hop)
{
	__u16 *link = bytes_at(ctx, 0, L3_MASK, 14);
	const __u16 *to = (const __u16 *)next_hop->to, *from = (const __u16 *)next_hop->from;

	if (!link)
		return XDP_DROP;
	link[0] = to[0];
	link[1] = to[1];
	link[2] = to[2];
	link[3] = from[0];
	link[4] = from[1];
	link[5] = from[2];
	if (next_hop->ifindex == ctx->ingress_ifindex)
		return XDP_TX;
	return bpf_redirect(next_hop->ifindex, 0);
}

/* Whether the driver of an interface loses what programs send. It says so to nobody, so that it is not even tried. */
INLINE int is_refused(__u32 ifindex)
{
	struct config *k = entry(config, 0);
	struct interface *out;

	if (likely(!k || !k->refusing))
		return 0;
	out = bpf_map_lookup_elem(&interfaces, &ifindex);
	return out && out->flags & INTERFACE_REFUSES;
}

/* Ends the walk of a packet that leaves by a way. */
INLINE int send_frame(struct xdp_md *ctx, const struct cursor *c, const struct next_hop *next_hop, __u32 outcome)
{
	if (unlikely(is_refused(next_hop->ifindex)))
		return drop(c, DRIVER_REFUSES);
	return end(c, outcome, write_link_and_send(ctx, next_hop));
}

/* Ends the walk of an answer of ours, which leaves where the packet came from. */
INLINE int return_to_sender(struct xdp_md *ctx, const struct cursor *c, __u32 outcome)
{
	if (unlikely(is_refused(ctx->ingress_ifindex)))
		return drop(c, DRIVER_REFUSES);
	return end(c, outcome, XDP_TX);
}

/* Whether a packet that is `length` bytes when it leaves is too large for a way. In the stack a frame may stand for many
 * packets that the kernel will cut: one that is longer than its link can have carried. */
INLINE int too_large(struct xdp_md *ctx, const struct cursor *c, __u32 length, const struct next_hop *next_hop)
{
	struct interface *in;
	__u32 index = ctx->ingress_ifindex;

	if (likely(!next_hop->mtu || length <= next_hop->mtu))
		return 0;
	in = bpf_map_lookup_elem(&interfaces, &index);
	return in && (in->flags & INTERFACE_NATIVE || c->length <= in->mtu);
}

#endif
