/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Reads the packet that an ICMP error quotes. It changes nothing. */
#ifndef STEELYARD_QUOTED_H
#define STEELYARD_QUOTED_H

#include "service.h"
#include "translate.h"

/* What an error needs; too much for the stack. */
struct quoted {
	struct cursor own;
	struct cursor in;
	struct ends ours;
	struct ends outer;
	struct ends to;
	/* What the quoted packet's number is above the one that its receiver gave it. */
	__u32 shift;
	__u32 pad;
};

PER_CPU(quotes, struct quoted, 1);

/* Reads the ends of the quoted packet at `in->l3` into `in`; 0 when it cannot be one of ours. */
GLOBAL int parse_quoted(struct xdp_md *ctx, struct cursor *in)
{
	__u32 at, l4;
	__be16 *ports;

	if (!in)
		return 0;
	at = in->l3;
	if (in->family == 4) {
		struct iphdr *ip = bytes_at(ctx, at, L4_MASK, sizeof(*ip));

		if (!ip || ip->version != 4 || ip->ihl < 5 || ip->frag_off & bpf_htons(0x1fff))
			return 0;
		in->src.w[0] = in->src.w[1] = in->dst.w[0] = in->dst.w[1] = 0;
		in->src.w[2] = in->dst.w[2] = MAPPED;
		in->src.w[3] = ip->saddr;
		in->dst.w[3] = ip->daddr;
		in->proto = ip->protocol;
		l4 = at + ip->ihl * 4;
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, at, L4_MASK, sizeof(*ip));

		if (!ip || ip->version != 6)
			return 0;
		copy16(&in->src, &ip->saddr);
		copy16(&in->dst, &ip->daddr);
		in->proto = ip->nexthdr;
		l4 = at + sizeof(*ip);
	}
	if (in->proto != IPPROTO_TCP && in->proto != IPPROTO_UDP)
		return 0;
	ports = bytes_at(ctx, l4, L4_MASK, 8);
	if (!ports)
		return 0;
	in->l4 = l4;
	in->sport = ports[0];
	in->dport = ports[1];
	return 1;
}

#endif
