/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Changes addresses and ports in a packet, with its checksums brought along (RFC 1624). It decides nothing. */
#ifndef STEELYARD_TRANSLATE_H
#define STEELYARD_TRANSLATE_H

#include "partial.h"

/* What a packet's ends are to be. */
struct ends {
	struct addr src;
	struct addr dst;
	__be16 sport;
	__be16 dport;
	/* Whether the hop limit goes down. */
	__u32 hop;
};

/* The change that new addresses make. */
INLINE __u64 address_change(const struct cursor *c, const struct ends *to)
{
	__u64 sum = 0;

	if (c->family == 4) {
		sum = swapped(sum, c->src.w[3], to->src.w[3]);
		return swapped(sum, c->dst.w[3], to->dst.w[3]);
	}
#pragma unroll
	for (int i = 0; i < 4; i++) {
		sum = swapped(sum, c->src.w[i], to->src.w[i]);
		sum = swapped(sum, c->dst.w[i], to->dst.w[i]);
	}
	return sum;
}

/* With the change that the new addresses make. */
INLINE int rewrite_ip(struct xdp_md *ctx, const struct cursor *c, const struct ends *to, __u64 sum)
{
	if (c->family == 4) {
		struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		if (to->hop) {
			__be16 *hop = (__be16 *)&ip->ttl, old = *hop, new = one_hop_less(old);

			*hop = new;
			sum = swapped16(sum, old, new);
		}
		ip->saddr = to->src.w[3];
		ip->daddr = to->dst.w[3];
		ip->check = adjusted(ip->check, sum);
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		if (to->hop)
			ip->hop_limit--;
		copy16((struct addr *)&ip->saddr, &to->src);
		copy16((struct addr *)&ip->daddr, &to->dst);
	}
	return 1;
}

/* The same where the sum is to be finished by a device: only the pseudo header is in it, and not inverted. */
INLINE int translate_partial(struct xdp_md *ctx, struct cursor *c, const struct ends *to, __u64 change)
{
	__be16 *ports = bytes_at(ctx, c->l4, L4_MASK, 4);
	__u16 *check = bytes_at(ctx, c->l4 + check_offset(c), L4_MASK, 2);

	if (!ports || !check)
		return 0;
	ports[0] = to->sport;
	ports[1] = to->dport;
	*check = folded(change + *check);
	return 1;
}

/* Writes new ends into a packet; 0 when it is shorter than it was. A later fragment has no ports. */
INLINE int translate(struct xdp_md *ctx, struct cursor *c, const struct ends *to)
{
	__u64 sum = address_change(c, to);
	int partial = is_partial(ctx, c);

	if (!rewrite_ip(ctx, c, to, sum))
		return 0;
	if (c->marks & LATER_FRAGMENT)
		return 1;
	if (unlikely(partial))
		return translate_partial(ctx, c, to, sum);
	sum = swapped16(sum, c->sport, to->sport);
	sum = swapped16(sum, c->dport, to->dport);
	if (c->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));

		if (!tcp)
			return 0;
		tcp->source = to->sport;
		tcp->dest = to->dport;
		tcp->check = adjusted(tcp->check, sum);
	} else {
		struct udphdr *udp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*udp));

		if (!udp)
			return 0;
		udp->source = to->sport;
		udp->dest = to->dport;
		/* Zero says that there is none (RFC 768); a sum that comes to zero is sent as ones. */
		if (udp->check) {
			udp->check = adjusted(udp->check, sum);
			if (!udp->check)
				udp->check = 0xffff;
		}
	}
	return 1;
}

#endif
