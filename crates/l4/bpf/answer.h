/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Answers of `nat` servers: finds the record by share and port, or by the client that was kept, and sends them on. */
#ifndef STEELYARD_ANSWER_H
#define STEELYARD_ANSWER_H

#include "gate.h"
#include "insight.h"
#include "nat.h"

/* The share of an answer's ends, or `NONE`. */
GLOBAL __u32 share_of(const struct addr *server, const struct addr *back, __u32 port, __u32 proto)
{
	__u32 *found;

	if (!server)
		return NONE;
	if (server->w[2] == MAPPED && !server->w[0] && !server->w[1]) {
		struct share4 key = { .port = port, .proto = proto };

		*(__u32 *)key.server = server->w[3];
		*(__u32 *)key.back = back ? back->w[3] : 0;
		found = bpf_map_lookup_elem(&shares4, &key);
		if (!found) {
			key.port = 0;
			found = bpf_map_lookup_elem(&shares4, &key);
		}
	} else {
		struct share6 key = { .port = port, .proto = proto };

		copy16((struct addr *)key.server, server);
		if (back)
			copy16((struct addr *)key.back, back);
		found = bpf_map_lookup_elem(&shares6, &key);
		if (!found) {
			key.port = 0;
			found = bpf_map_lookup_elem(&shares6, &key);
		}
	}
	return found ? *found : NONE;
}

/* The record of a connection seen from its server: `port` is ours, or the client's where its address is kept. */
INLINE __u32 record_of(const struct config *k, const struct addr *server, const struct addr *to, __be16 server_port,
		       __be16 port, __u32 proto, int *ours)
{
	__u32 index = share_of(server, to, server_port, proto), at;
	struct share *share;
	__u64 print, *word;

	if (index != NONE) {
		share = entry(shares, index);
		at = bpf_ntohs(port) - FIRST_PORT;
		*ours = 1;
		return share && at < share->ports ? share->first + at : NONE;
	}
	if (!(k->flags & CONFIG_CLIENT_SOURCE) || share_of(server, NULL, server_port, proto) == NONE)
		return NONE;
	print = print_of(k, server, to, server_port, port, proto | ANSWERS);
	word = find(&forward, k->forward_mask, print);
	return word ? (__u32)read_word(word, print) : NONE;
}

/* Whether a record is of a connection with this server's address and port. */
INLINE int serves(const struct record *record, const struct addr *from, __be16 port)
{
	struct server *server = entry(servers, record->server);

	return server && same((const struct addr *)server->addr, from) &&
	       (server->port ? server->port : record->port) == port;
}

/* The server's side. Ends the walk, or goes on with the record; `PASS_ON`: not an answer. */
INLINE int answered(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	struct service *service;
	struct record *record;
	struct server *server;
	int ours = 0;
	__u64 old;

	c->record = record_of(k, &c->src, &c->dst, c->sport, c->dport, c->proto, &ours);
	record = c->record == NONE ? NULL : entry(records, c->record);
	if (!record)
		return ours ? drop(c, ANSWER_WITHOUT_FLOW) : PASS_ON;
	old = *(volatile __u64 *)&record->word;
	if (!living(old, c->tick) || record_state(old) == CLAIMED || (old >> 8 & 0xff) != c->proto ||
	    !serves(record, &c->src, c->sport))
		return ours ? drop(c, ANSWER_WITHOUT_FLOW) : PASS_ON;
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
	if (unlikely(by_cookie(old))) {
		int done = hear_server(ctx, c, service, record);

		if (done != GO_ON)
			return done;
		old = *(volatile __u64 *)&record->word;
	}
	if (unlikely(c->tcp & SYN && service->mss))
		clamp(ctx, c, service->mss);
	keep(c, service, record, old, after_server(c, record_state(old)));
	look(ctx, c, k, SERVER_SIDE);
	return GO_ON;
}

GLOBAL int nat_back(struct xdp_md *ctx, struct cursor *c)
{
	struct record *record;
	struct ends to;
	struct way way;

	if (!c)
		return XDP_DROP;
	record = entry(records, c->record);
	if (!record)
		return drop(c, NO_CONFIGURATION);
	if (unlikely(c->ttl <= 1))
		return hops_over(ctx, c);
	copy16(&to.src, record->addr);
	to.sport = record->port;
	copy16(&to.dst, record->client);
	to.dport = record->client_port;
	to.hop = 1;
	if (unlikely(!way_back(ctx, c, &to.dst, &record->back_way, &way)))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (unlikely(too_large(ctx, c->length, &way)))
		return too_big(ctx, c, way.mtu);
	if (unlikely(is_tcp(c) && !(c->marks & LATER_FRAGMENT) && shift_of(record)))
		shift(ctx, c, 4, shift_of(record));
	if (unlikely(!translate(ctx, c, &to)))
		return drop(c, NO_CONFIGURATION);
	return end(c, RETURNED, leave(ctx, &way));
}

#endif
