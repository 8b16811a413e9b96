/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* 'Too big' about a tunnel's outer packet, which a router between us and the server sent us: the room is remembered for
 * the server, and the client is told how much of it is left for its packets (RFC 2003 §5, RFC 2473 §8.1). Other errors
 * about outer packets are the host's. */
#ifndef STEELYARD_OUTER_H
#define STEELYARD_OUTER_H

#include "quoted.h"
#include "tunnel.h"

/* Finds the packet inside the outer one, which begins at `at`; its family and place go into `in`, the outer ends into
 * `outer`. Gives the bytes around it; 0 when there is none. */
GLOBAL int unwrap_quoted(struct xdp_md *ctx, struct cursor *c, struct cursor *in, struct ends *outer)
{
	__u32 at, size, proto;
	__u8 *first;

	if (!c || !in || !outer)
		return 0;
	at = c->l4 + ICMP_HEADER;
	if (c->family == 4) {
		struct iphdr *ip = bytes_at(ctx, at, L4_MASK, sizeof(*ip));

		if (!ip || ip->version != 4 || ip->ihl != 5 || ip->frag_off & bpf_htons(0x1fff))
			return 0;
		outer->src.w[0] = outer->src.w[1] = outer->dst.w[0] = outer->dst.w[1] = 0;
		outer->src.w[2] = outer->dst.w[2] = MAPPED;
		outer->src.w[3] = ip->saddr;
		outer->dst.w[3] = ip->daddr;
		proto = ip->protocol;
		size = sizeof(*ip);
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, at, L4_MASK, sizeof(*ip));

		if (!ip || ip->version != 6)
			return 0;
		copy16(&outer->src, &ip->saddr);
		copy16(&outer->dst, &ip->daddr);
		proto = ip->nexthdr;
		size = sizeof(*ip);
	}
	if (proto == IPPROTO_GRE)
		size += sizeof(struct gre_header);
	else if (proto == IPPROTO_UDP)
		size += sizeof(struct udphdr);
	else if (proto != IPPROTO_IPIP && proto != IPPROTO_IPV6)
		return 0;
	first = bytes_at(ctx, at + size, L4_MASK, 1);
	if (!first)
		return 0;
	in->family = *first >> 4;
	in->l3 = at + size;
	return in->family == 4 || in->family == 6 ? size : 0;
}

/* The room that the error tells of, within what can be; 0 when it tells nothing. */
INLINE __u32 reported_mtu(const struct cursor *c, const struct icmp_header *header)
{
	__u32 told = bpf_ntohl(header->rest), least = c->family == 4 ? LEAST_PATH4 : LEAST_PATH6;

	if (c->family == 4)
		told &= 0xffff;
	return told && told < least ? least : told;
}

INLINE void store_path_mtu(const struct cursor *c, const struct server *server, __u32 room)
{
	struct path *path = entry(paths, server->next_hop);

	if (!path)
		return;
	copy16((struct addr *)path->addr, server->addr);
	path->mtu = room;
	path->until = c->tick + PATH_TICKS;
}

/* The way back to where a frame came from. */
INLINE int next_hop_to_sender(struct xdp_md *ctx, struct next_hop *next_hop)
{
	__u8 *link = bytes_at(ctx, 0, L3_MASK, 14);

	if (!link)
		return 0;
	__builtin_memcpy(next_hop->to, link + 6, 6);
	__builtin_memcpy(next_hop->from, link, 6);
	next_hop->ifindex = ctx->ingress_ifindex;
	next_hop->mtu = 0;
	next_hop->state = NEXT_HOP_OK;
	return 1;
}

/* Makes of the error one about the packet inside, to its client. The link is written anew: what it was is not the
 * client's, and tags are left behind. */
GLOBAL int send_error_to_client(struct xdp_md *ctx, struct cursor *c, struct cursor *in, __u32 room)
{
	__u32 size, quote, says, frame = bpf_xdp_get_buff_len(ctx);
	struct addr from;
	struct next_hop next_hop;
	__be16 *kind;

	if (!c || !in)
		return XDP_DROP;
	/* What is left of the frame counts, not what the packet inside was. */
	in->length = frame - in->l3;
	in->service = c->service;
	in->server = c->server;
	in->tick = c->tick;
	quote = quote_of(in);
	if (!quote || !may_send_error(in))
		return drop(in, OVERSIZE);
	/* Whoever sent the error passes packets on, if nothing better is known. */
	if (ask_kernel(ctx, c, &in->src, &next_hop) && !next_hop_to_sender(ctx, &next_hop))
		return drop(in, RESIZE_FAILED);
	error_source(ctx, in, &from);
	size = (in->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)) + ICMP_HEADER + sizeof(struct ethhdr);
	if (bpf_xdp_adjust_tail(ctx, (int)(in->l3 + quote) - (int)frame) || bpf_xdp_adjust_head(ctx, (int)in->l3 - (int)size))
		return drop(in, RESIZE_FAILED);
	in->l4 -= in->l3 - sizeof(struct ethhdr);
	in->l3 = sizeof(struct ethhdr);
	kind = bytes_at(ctx, 12, L3_MASK, 2);
	if (!kind)
		return drop(in, RESIZE_FAILED);
	*kind = in->family == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	says = in->family == 4 ? UNREACHABLE_TOO_BIG : TOO_BIG_6;
	if (!write_quoting(ctx, in, &from, says, room))
		return drop(in, RESIZE_FAILED);
	return send_frame(ctx, in, &next_hop, ERROR_RETURNED);
}

/* Ends the walk of a 'too big' about a packet of a tunnel of ours, or goes on with others. */
GLOBAL int handle_tunnel_error(struct xdp_md *ctx, struct cursor *c, struct quoted *q, const struct config *k)
{
	struct icmp_header *header;
	struct cursor *in = &q->in;
	struct service *service;
	struct server *server;
	__u32 around, room;
	__u64 fingerprint, *word, old;

	if (!c || !q || !k)
		return XDP_DROP;
	header = bytes_at(ctx, c->l4, L4_MASK, sizeof(*header));
	room = header ? reported_mtu(c, header) : 0;
	around = unwrap_quoted(ctx, c, in, &q->outer);
	if (!room || !around || !parse_quoted(ctx, in))
		return GO_ON;
	c->service = service_of(in, &in->dst, in->dport, k->flags);
	service = entry(services, c->service);
	if (!service || service->method != TUNNEL)
		return GO_ON;
	fingerprint = flow_fingerprint(k, &in->src, &in->dst, in->sport, in->dport, in->proto);
	word = find(&flows, k->flow_mask, fingerprint);
	old = word ? read_word(word, fingerprint) : 0;
	c->server = old ? server_of(old) : NONE;
	server = entry(servers, c->server);
	/* Whoever does not know where our packets go does not tell us of their room. */
	if (!server || !same(&q->outer.dst, (const struct addr *)server->addr) ||
	    !same(&q->outer.src, (const struct addr *)server->outer))
		return GO_ON;
	store_path_mtu(c, server, room);
	return send_error_to_client(ctx, c, in, room - around);
}

#endif
