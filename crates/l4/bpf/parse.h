/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* From bytes to the cursor: Ethernet with up to two VLAN tags, IPv4 with options, IPv6 with extension headers,
 * fragments, ports. It decides only whether a packet can be read. */
#ifndef STEELYARD_PARSE_H
#define STEELYARD_PARSE_H

#include "count.h"

#ifndef ETH_P_8021AD
#define ETH_P_8021AD 0x88A8
#endif

struct tag {
	__be16 control;
	__be16 kind;
};

/* IPv6 extension headers (RFC 8200 §4). */
#define HOP_BY_HOP 0
#define ROUTING 43
#define FRAGMENT 44
#define AUTHENTICATION 51
#define DESTINATION 60

struct extension {
	__u8 next;
	__u8 length;
	__be16 offset;
	__be32 id;
};

INLINE int parse_ports(struct xdp_md *ctx, struct cursor *c)
{
	if (c->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));

		if (!tcp)
			return drop(c, TOO_SHORT);
		if (tcp->doff < 5 || c->l4 - c->l3 + tcp->doff * 4 > c->length)
			return drop(c, BAD_HEADER);
		c->sport = tcp->source;
		c->dport = tcp->dest;
		c->tcp = ((__u8 *)tcp)[13];
		c->tcp_size = tcp->doff * 4;
		c->seq = bpf_ntohl(tcp->seq);
	} else if (c->proto == IPPROTO_UDP) {
		struct udphdr *udp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*udp));

		if (!udp)
			return drop(c, TOO_SHORT);
		if (bpf_ntohs(udp->len) < sizeof(*udp))
			return drop(c, BAD_HEADER);
		c->sport = udp->source;
		c->dport = udp->dest;
	}
	return GO_ON;
}

INLINE int parse_v4(struct xdp_md *ctx, struct cursor *c)
{
	struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));
	__u32 header, where, frame = bpf_xdp_get_buff_len(ctx);

	c->family = 4;
	if (!ip)
		return drop(c, TOO_SHORT);
	header = ip->ihl * 4;
	c->length = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || c->length < header)
		return drop(c, BAD_HEADER);
	if (c->l3 + c->length > frame)
		return drop(c, TOO_SHORT);
	c->src.w[2] = MAPPED;
	c->src.w[3] = ip->saddr;
	c->dst.w[2] = MAPPED;
	c->dst.w[3] = ip->daddr;
	c->proto = ip->protocol;
	c->tos = ip->tos;
	c->ttl = ip->ttl;
	c->l4 = c->l3 + header;
	where = bpf_ntohs(ip->frag_off);
	if (where & 0x4000)
		c->marks |= DONT_FRAGMENT;
	if (unlikely(where & 0x3fff)) {
		c->fragment_id = ip->id;
		if (where & 0x1fff) {
			/* RFC 1858: a second fragment may not overwrite the first one's ports and flags. */
			if (c->proto == IPPROTO_TCP && (where & 0x1fff) == 1)
				return drop(c, BAD_FRAGMENT);
			c->marks |= LATER_FRAGMENT;
			return GO_ON;
		}
		c->marks |= FIRST_FRAGMENT;
	}
	return parse_ports(ctx, c);
}

/* Follows extension headers to the transport. */
GLOBAL int parse_extensions(struct xdp_md *ctx, struct cursor *c)
{
	if (!c)
		return XDP_DROP;
	for (int i = 0; i < EXTENSIONS_LIMIT; i++) {
		struct extension *one;
		__u32 size;

		if (c->proto != HOP_BY_HOP && c->proto != ROUTING && c->proto != FRAGMENT &&
		    c->proto != AUTHENTICATION && c->proto != DESTINATION)
			return GO_ON;
		one = bytes_at(ctx, c->l4, L4_MASK, sizeof(*one));
		if (!one)
			return drop(c, TOO_SHORT);
		size = (one->length + 1) * 8;
		if (c->proto == FRAGMENT) {
			__u32 where = bpf_ntohs(one->offset);

			size = 8;
			if (where & 0xfff9) {
				c->fragment_id = one->id;
				if (where & 0xfff8) {
					c->proto = one->next;
					c->l4 += size;
					c->marks |= LATER_FRAGMENT;
					return GO_ON;
				}
				c->marks |= FIRST_FRAGMENT;
			}
		} else if (c->proto == AUTHENTICATION) {
			size = (one->length + 2) * 4;
		}
		c->proto = one->next;
		c->l4 += size;
		if (c->l4 - c->l3 > c->length)
			return drop(c, BAD_HEADER);
		if (c->l4 > L4_MASK - 64)
			return end(c, TOO_MANY_EXTENSIONS, PASS_ON);
	}
	return end(c, TOO_MANY_EXTENSIONS, PASS_ON);
}

INLINE int parse_v6(struct xdp_md *ctx, struct cursor *c)
{
	struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));
	__u32 frame = bpf_xdp_get_buff_len(ctx);

	c->family = 6;
	if (!ip)
		return drop(c, TOO_SHORT);
	if (ip->version != 6)
		return drop(c, BAD_HEADER);
	c->length = bpf_ntohs(ip->payload_len) + sizeof(*ip);
	if (c->l3 + c->length > frame)
		return drop(c, TOO_SHORT);
	copy16(&c->src, &ip->saddr);
	copy16(&c->dst, &ip->daddr);
	c->proto = ip->nexthdr;
	c->tos = ip->priority << 4 | ip->flow_lbl[0] >> 4;
	c->ttl = ip->hop_limit;
	c->marks |= DONT_FRAGMENT;
	c->l4 = c->l3 + sizeof(*ip);
	if (unlikely(c->proto != IPPROTO_TCP && c->proto != IPPROTO_UDP)) {
		int done = parse_extensions(ctx, c);

		if (done != GO_ON)
			return done;
		if (c->marks & LATER_FRAGMENT)
			return GO_ON;
	}
	return parse_ports(ctx, c);
}

INLINE int parse(struct xdp_md *ctx, struct cursor *c)
{
	struct ethhdr *ethernet = bytes_at(ctx, 0, L3_MASK, sizeof(*ethernet));
	__be16 kind;

	if (!ethernet)
		return drop(c, TOO_SHORT);
	kind = ethernet->h_proto;
	c->l3 = sizeof(*ethernet);
#pragma unroll
	for (int i = 0; i < 2; i++) {
		struct tag *tag;

		if (likely(kind != bpf_htons(ETH_P_8021Q) && kind != bpf_htons(ETH_P_8021AD)))
			break;
		tag = bytes_at(ctx, c->l3, L3_MASK, sizeof(*tag));
		if (!tag)
			return drop(c, TOO_SHORT);
		kind = tag->kind;
		c->l3 += sizeof(*tag);
	}
	if (kind == bpf_htons(ETH_P_IP))
		return parse_v4(ctx, c);
	if (kind == bpf_htons(ETH_P_IPV6))
		return parse_v6(ctx, c);
	return end(c, NOT_IP, PASS_ON);
}

#endif
