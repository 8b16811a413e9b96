/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* ICMP errors about a connection go where the connection goes: towards its server, or back to its client, with the
 * quoted packet translated for `nat` so that its receiver knows it. Everything else of ICMP is the host's. */
#ifndef STEELYARD_ICMP_H
#define STEELYARD_ICMP_H

#include "answer.h"
#include "mac.h"
#include "outer.h"

/* Errors: RFC 792, RFC 1812 §4.3; RFC 4443 §2.1. */
INLINE int is_error(const struct cursor *c, __u8 kind)
{
	return c->family == 4 ? kind == 3 || kind == 11 || kind == 12 : kind >= 1 && kind <= 4;
}

/* Puts other ends into the quoted packet; gives what the ICMP checksum must take up. */
INLINE int translate_quoted(struct xdp_md *ctx, const struct cursor *in, const struct ends *to, __u64 *change)
{
	__u64 sum = address_change(in, to), own;
	__u32 offset = in->proto == IPPROTO_TCP ? 16 : 6;
	__be16 *ports, old;
	__u16 *check;

	*change = sum;
	if (in->family == 4) {
		struct iphdr *ip = bytes_at(ctx, in->l3, L4_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		old = ip->check;
		ip->check = adjusted(old, sum);
		*change = swapped16(*change, old, ip->check);
		ip->saddr = to->src.w[3];
		ip->daddr = to->dst.w[3];
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, in->l3, L4_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		copy16((struct addr *)&ip->saddr, &to->src);
		copy16((struct addr *)&ip->daddr, &to->dst);
	}
	ports = bytes_at(ctx, in->l4, L4_MASK, 4);
	if (!ports)
		return 0;
	ports[0] = to->sport;
	ports[1] = to->dport;
	own = swapped16(swapped16(0, in->sport, to->sport), in->dport, to->dport);
	*change += own;
	check = bytes_at(ctx, in->l4 + offset, L4_MASK, 2);
	if (check && (*check || in->proto == IPPROTO_TCP)) {
		old = *check;
		*check = adjusted(old, sum + own);
		*change = swapped16(*change, old, *check);
	}
	return 1;
}

/* Takes back what was added to the quoted packet's number; gives what the ICMP checksum must take up. */
GLOBAL int shift_quoted(struct xdp_md *ctx, const struct cursor *in, __u32 by, __u64 *change)
{
	__be32 *number, old, new;
	__u16 *check, was;

	if (!in || !change)
		return 0;
	number = bytes_at(ctx, in->l4 + 4, L4_MASK, 4);
	if (!number)
		return 0;
	old = *number;
	new = bpf_htonl(bpf_ntohl(old) - by);
	*number = new;
	*change = swapped(*change, old, new);
	check = bytes_at(ctx, in->l4 + 16, L4_MASK, 2);
	if (check) {
		was = *check;
		*check = adjusted(was, swapped(0, old, new));
		*change = swapped16(*change, was, *check);
	}
	return 1;
}

/* Translates an error: `outer` are to be its own ends, `to` those of the packet it quotes. */
GLOBAL int translate_error(struct xdp_md *ctx, struct cursor *c, const struct quoted *q)
{
	struct icmp_header *icmp;
	__u64 change = 0;

	if (!c || !q)
		return 0;
	if (!translate_quoted(ctx, &q->in, &q->to, &change) ||
	    !rewrite_ip(ctx, c, &q->outer, address_change(c, &q->outer)))
		return 0;
	if (q->shift && !shift_quoted(ctx, &q->in, q->shift, &change))
		return 0;
	if (c->family == 6)
		change += address_change(c, &q->outer);
	icmp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*icmp));
	if (!icmp)
		return 0;
	icmp->check = adjusted(icmp->check, change);
	return 1;
}

INLINE void swap_ends(const struct ends *a, struct ends *b)
{
	b->src = a->dst;
	b->dst = a->src;
	b->sport = a->dport;
	b->dport = a->sport;
}

/* The quoted packet was on its way to a client: the error is for the server that sent it. */
GLOBAL int error_to_server(struct xdp_md *ctx, struct cursor *c, struct quoted *q, const struct config *k)
{
	struct cursor *in = &q->in;
	struct service *service;
	struct record *record;
	struct server *server;
	struct next_hop next_hop;
	__u64 fingerprint, *word, old;

	if (!c || !q || !k)
		return XDP_DROP;
	service = entry(services, c->service);
	if (!service || service->method == HOST)
		return end(c, ERROR_NOT_OURS, PASS_ON);
	if (gated(k, service, &in->src))
		return drop(c, GATE_SHUT);
	fingerprint = flow_fingerprint(k, &in->dst, &in->src, in->dport, in->sport, in->proto);
	if (service->method == NAT)
		word = find(&forward, k->forward_mask, fingerprint);
	else
		word = find(&flows, k->flow_mask, fingerprint);
	old = word ? read_word(word, fingerprint) : 0;
	if (!old)
		return end(c, ERROR_NOT_OURS, PASS_ON);
	c->server = service->method == NAT ? NONE : server_of(old);
	if (service->method == NAT) {
		c->record = (__u32)old;
		record = entry(records, c->record);
		if (!record || !is_live(record->word, c->tick) ||
		    !same((const struct addr *)record->client, &in->dst) || record->client_port != in->dport ||
		    !same((const struct addr *)record->addr, &in->src) || record->port != in->sport)
			return end(c, ERROR_NOT_OURS, PASS_ON);
		c->server = record->server;
	}
	server = entry(servers, c->server);
	if (!server)
		return drop(c, NO_CONFIGURATION);
	if (service->method == TUNNEL)
		return tunnel(ctx, c, k, server, ERROR_FORWARDED);
	if (server->flags & SERVER_LOCAL)
		return end(c, COLLOCATED, XDP_PASS);
	if (!next_hop_to(ctx, c, server, &next_hop))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (service->method == NAT) {
		if (c->ttl <= 1)
			return drop(c, TTL_EXPIRED);
		record = entry(records, c->record);
		if (!record || !server_ends(c, server, &q->ours))
			return drop(c, NO_CONFIGURATION);
		q->shift = in->proto == IPPROTO_TCP ? shift_of(record) : 0;
		swap_ends(&q->ours, &q->to);
		q->outer.src = c->src;
		q->outer.dst = q->ours.dst;
		q->outer.hop = 1;
		if (!translate_error(ctx, c, q))
			return drop(c, NO_CONFIGURATION);
	}
	return send_frame(ctx, c, &next_hop, ERROR_FORWARDED);
}

/* The quoted packet was on its way to a server: the error is for the client that it came from. Goes on where it was of
 * no connection. */
GLOBAL int error_to_client(struct xdp_md *ctx, struct cursor *c, struct quoted *q, const struct config *k)
{
	struct cursor *in = &q->in;
	struct service *service;
	struct record *record;
	struct server *server;
	struct next_hop next_hop;
	int ours = 0;

	if (!c || !q || !k)
		return XDP_DROP;
	c->record = record_of(k, c->tick, &in->dst, &in->src, in->dport, in->sport, in->proto, &ours);
	record = c->record == NONE ? NULL : entry(records, c->record);
	if (!record || !is_live(record->word, c->tick) || !is_record_of_server(record, &in->dst, in->dport))
		return GO_ON;
	c->server = record->server;
	server = entry(servers, c->server);
	if (!server)
		return drop(c, NO_CONFIGURATION);
	c->service = server->service;
	service = entry(services, c->service);
	if (!service)
		return drop(c, NO_CONFIGURATION);
	if (gated(k, service, record->addr))
		return drop(c, GATE_SHUT);
	if (c->ttl <= 1)
		return drop(c, TTL_EXPIRED);
	copy16(&q->to.src, record->client);
	q->to.sport = record->client_port;
	copy16(&q->to.dst, record->addr);
	q->to.dport = record->port;
	/* Said in the service's name (RFC 5508 §4.2): who stands behind it has no name for the client, and a router that
	 * is on both ways would refuse a packet from its own address. */
	q->outer.src = q->to.dst;
	q->outer.dst = q->to.src;
	q->outer.hop = 1;
	q->shift = 0;
	if (!next_hop_to_client(ctx, c, &q->outer.dst, &record->return_hop, &next_hop))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (!translate_error(ctx, c, q))
		return drop(c, NO_CONFIGURATION);
	return send_frame(ctx, c, &next_hop, ERROR_RETURNED);
}

/* Ends the walk of every ICMP packet. */
GLOBAL int icmp(struct xdp_md *ctx, struct cursor *c, struct quoted *q, const struct config *k)
{
	struct icmp_header *header;

	if (!c || !k || !q)
		return XDP_DROP;
	header = bytes_at(ctx, c->l4, L4_MASK, sizeof(*header));
	if (!header)
		return drop(c, TOO_SHORT);
	if (!is_error(c, header->kind))
		return end(c, NOT_OURS, PASS_ON);
	if (c->family == 4 ? header->kind == 3 && header->code == 4 : header->kind == 2) {
		int done = handle_tunnel_error(ctx, c, q, k);

		if (done != GO_ON)
			return done;
	}
	q->in.family = c->family;
	q->in.l3 = c->l4 + ICMP_HEADER;
	if (!parse_quoted(ctx, &q->in))
		return end(c, ERROR_NOT_OURS, PASS_ON);
	c->service = named_service(&q->in, &q->in.src, q->in.sport, k->flags);
	if (c->service == NONE && k->flags & CONFIG_NAT) {
		int done = error_to_client(ctx, c, q, k);

		if (done != GO_ON)
			return done;
	}
	if (c->service == NONE && k->flags & CONFIG_ANY_ADDRESS)
		c->service = any_address_service(&q->in, &q->in.src, q->in.sport);
	if (c->service != NONE)
		return error_to_server(ctx, c, q, k);
	return end(c, ERROR_NOT_OURS, PASS_ON);
}

#endif
