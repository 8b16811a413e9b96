/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* `tunnel`: the packet goes to the server inside another one: IP in IP of all four pairs of families, GRE, or GUE,
 * whose source port carries the flow so that routers and receive queues spread it. */
#ifndef STEELYARD_TUNNEL_H
#define STEELYARD_TUNNEL_H

#include "direct.h"
#include "oversized.h"
#include "reply.h"

struct gre_header {
	__be16 flags;
	__be16 kind;
};

INLINE __u32 wrap_bytes(__u32 wrap)
{
	return wrap == GUE ? sizeof(struct udphdr) : wrap == GRE ? sizeof(struct gre_header) : 0;
}

INLINE __u8 wrap_proto(const struct cursor *c, __u32 wrap)
{
	if (wrap == GUE)
		return IPPROTO_UDP;
	if (wrap == GRE)
		return IPPROTO_GRE;
	return c->family == 4 ? IPPROTO_IPIP : IPPROTO_IPV6;
}

/* Ticks that a path's room is believed: ten minutes (RFC 1191 §6.3, RFC 8201 §4). */
#define PATH_TICKS 2235
/* Who says less is not believed more: what every host takes of IPv4 (RFC 791 §3.1) and every link of IPv6 (RFC 8200 §5). */
#define LEAST_PATH4 576
#define LEAST_PATH6 1280

/* The room on the way to a server, where a router has said so. */
INLINE __u32 path_room(const struct cursor *c, const struct server *server, __u32 room)
{
	struct path *path = entry(paths, server->next_hop);

	if (!path || !path->mtu || (__s32)(path->until - c->tick) <= 0 ||
	    !same((const struct addr *)path->addr, (const struct addr *)server->addr))
		return room;
	return !room || path->mtu < room ? path->mtu : room;
}

/* The router's share: one hop less in the packet inside (RFC 2003 §3.1, RFC 2473 §3.1). */
INLINE int hop_down(struct xdp_md *ctx, struct cursor *c)
{
	if (c->family == 4) {
		struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));
		__be16 *hop, old, new;

		if (!ip)
			return 0;
		hop = (__be16 *)&ip->ttl;
		old = *hop;
		new = one_hop_less(old);
		*hop = new;
		ip->check = adjusted(ip->check, swapped16(0, old, new));
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		ip->hop_limit--;
	}
	return 1;
}

/* Writes what stands between the outer header and the packet. */
INLINE int write_wrap(struct xdp_md *ctx, struct cursor *c, const struct server *server, __u32 at, __u32 entropy)
{
	if (server->wrap == GRE) {
		struct gre_header *gre = bytes_at(ctx, at, L4_MASK, sizeof(*gre));

		if (!gre)
			return 0;
		gre->flags = 0;
		gre->kind = c->family == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	} else if (server->wrap == GUE) {
		struct udphdr *udp = bytes_at(ctx, at, L4_MASK, sizeof(*udp));

		if (!udp)
			return 0;
		udp->source = bpf_htons(0xc000 | (entropy & 0x3fff));
		udp->dest = server->wrap_port;
		udp->len = bpf_htons(c->length + sizeof(*udp));
		/* Tunnels may go without (RFC 6935). */
		udp->check = 0;
	}
	return 1;
}

/* The outer packet may not be cut: its fragments could not be told apart, since all have one number (RFC 6864 §4.1), and
 * not every server puts them together. Routers say 'too big' instead, which `outer.h` hears. */
INLINE int write_outer(struct xdp_md *ctx, struct cursor *c, const struct server *server, int v4, __u32 entropy)
{
	__u32 extra = wrap_bytes(server->wrap), at = c->l3 - 2;
	__be16 *kind = bytes_at(ctx, at, L3_MASK, 2);
	__u8 proto = wrap_proto(c, server->wrap);

	if (!kind)
		return 0;
	*kind = v4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	if (v4) {
		struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		outer_v4(ip, ((const struct addr *)server->outer)->w[3], ((const struct addr *)server->addr)->w[3],
			 c->length + extra + sizeof(*ip), proto, c->tos, 1);
		return write_wrap(ctx, c, server, c->l3 + sizeof(*ip), entropy);
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		outer_v6(ip, (const struct addr *)server->outer, (const struct addr *)server->addr, c->length + extra,
			 proto, c->tos, entropy);
		return write_wrap(ctx, c, server, c->l3 + sizeof(*ip), entropy);
	}
}

GLOBAL int tunnel(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct server *server,
		  __u32 outcome)
{
	__u32 more, entropy = 0;
	struct next_hop next_hop;
	int v4;

	if (!c || !k || !server)
		return XDP_DROP;
	v4 = ((const struct addr *)server->addr)->w[2] == MAPPED && !((const struct addr *)server->addr)->w[0];
	more = (v4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)) + wrap_bytes(server->wrap);
	if (!v4 || server->wrap == GUE)
		entropy = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, c->proto) >> 12;
	if (unlikely(server->flags & SERVER_LOCAL))
		return end(c, COLLOCATED, XDP_PASS);
	if (unlikely(c->ttl <= 1))
		return send_time_exceeded(ctx, c);
	if (unlikely(!next_hop_to(ctx, c, server, &next_hop)))
		return drop(c, NEIGHBOUR_UNKNOWN);
	/* Most packets fit the narrowest path. */
	if (c->length + more > LEAST_PATH4)
		next_hop.mtu = path_room(c, server, next_hop.mtu);
	if (unlikely(too_large(ctx, c, c->length + more, &next_hop))) {
		if (pass_to_userspace(ctx, c, server, next_hop.mtu, entropy))
			return end(c, FRAGMENTED, XDP_DROP);
		return send_too_big(ctx, c, next_hop.mtu - more);
	}
	if (unlikely(c->length + more > 0xffff))
		return drop(c, OVERSIZE);
	if (unlikely(!hop_down(ctx, c)))
		return drop(c, RESIZE_FAILED);
	if (unlikely(bpf_xdp_adjust_head(ctx, -(int)more)))
		return drop(c, NO_HEADROOM);
	/* Without tags every byte of the link header is written below. */
	if (unlikely(c->l3 != sizeof(struct ethhdr) && !move_link(ctx, more, 0)))
		return drop(c, RESIZE_FAILED);
	if (unlikely(!write_outer(ctx, c, server, v4, entropy)))
		return drop(c, RESIZE_FAILED);
	return send_frame(ctx, c, &next_hop, outcome);
}

#endif
