/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Answers of `nat` servers: finds the record by share and port, or by the client that was kept, and sends them on. */
#ifndef STEELYARD_ANSWER_H
#define STEELYARD_ANSWER_H

#include "gate.h"
#include "flow_samples.h"
#include "nat.h"
#include "segment.h"

/* Whether a record is of a connection with this server's address and port. */
INLINE int is_record_of_server(const struct record *record, const struct addr *from, __be16 port)
{
	struct server *server = entry(servers, record->server);

	return server && same((const struct addr *)server->addr, from) &&
	       (server->port ? server->port : record->port) == port;
}

/* The record of a port of a share, or `NONE`. */
INLINE __u32 record_at(__u32 index, __be16 port)
{
	struct share *share = entry(shares, index);
	__u32 at = bpf_ntohs(port) - FIRST_PORT;

	return share && at < share->ports ? share->first + at : NONE;
}

/* Whether a record is of a living connection with this server's address and port. */
INLINE int is_served(__u32 index, __u32 tick, const struct addr *server, __be16 port)
{
	struct record *record = index == NONE ? NULL : entry(records, index);
	__u64 word = record ? *(volatile __u64 *)&record->word : 0;

	return record && is_live(word, tick) && record_state(word) != CLAIMED && is_record_of_server(record, server, port);
}

/* The record of a connection seen from its server: `port` is ours, or the client's where its address is kept. A server
 * may have a share of this port and one of all ports towards one return address; a port is in use in one of them. */
INLINE __u32 record_of(const struct config *k, __u32 tick, const struct addr *server, const struct addr *to,
		       __be16 server_port, __be16 port, __u32 proto, int *ours)
{
	__u32 one = share_of(server, to, server_port, proto), all, record = NONE;
	__u64 fingerprint, *word;

	if (likely(one != NONE)) {
		*ours = 1;
		record = record_at(one, port);
		if (likely(!(k->flags & CONFIG_PORT_PAIRS)) || is_served(record, tick, server, server_port))
			return record;
	}
	all = share_of(server, to, 0, proto);
	if (all != NONE) {
		*ours = 1;
		return record_at(all, port);
	}
	if (one != NONE)
		return record;
	if (!(k->flags & CONFIG_CLIENT_SOURCE) ||
	    (share_of(server, NULL, server_port, proto) == NONE && share_of(server, NULL, 0, proto) == NONE))
		return NONE;
	fingerprint = flow_fingerprint(k, server, to, server_port, port, proto | ANSWERS);
	word = find(&forward, k->forward_mask, fingerprint);
	return word ? (__u32)read_word(word, fingerprint) : NONE;
}

/* The server's side. Ends the walk, or goes on with the record; `PASS_ON`: not an answer. */
INLINE int handle_server_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	struct service *service;
	struct record *record;
	struct server *server;
	int ours = 0;
	__u64 old;

	c->record = record_of(k, c->tick, &c->src, &c->dst, c->sport, c->dport, c->proto, &ours);
	record = c->record == NONE ? NULL : entry(records, c->record);
	if (!record)
		return ours ? drop(c, ANSWER_WITHOUT_FLOW) : PASS_ON;
	old = *(volatile __u64 *)&record->word;
	if (!is_live(old, c->tick) || record_state(old) == CLAIMED || (old >> 8 & 0xff) != c->proto ||
	    !is_record_of_server(record, &c->src, c->sport))
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
	if (unlikely(service->normalize) && is_tcp(c)) {
		int done = normalize(ctx, c, service->normalize);

		if (done == GO_ON && needs_segment_check(c, service))
			done = check_segment(ctx, c, service, SERVER_SEGMENT);
		if (done != GO_ON)
			return done;
	}
	if (unlikely(by_cookie(old))) {
		int done = handle_cookie_reply(ctx, c, service, record);

		if (done != GO_ON)
			return done;
		old = *(volatile __u64 *)&record->word;
	}
	if (unlikely(c->tcp & SYN && service->mss))
		clamp(ctx, c, service->mss);
	update_record(c, service, record, old, after_server(c, record_state(old)));
	sample_packet(ctx, c, k, SERVER_SIDE);
	return GO_ON;
}

GLOBAL int nat_back(struct xdp_md *ctx, struct cursor *c)
{
	struct record *record;
	struct ends to;
	struct next_hop next_hop;

	if (!c)
		return XDP_DROP;
	record = entry(records, c->record);
	if (!record)
		return drop(c, NO_CONFIGURATION);
	if (unlikely(c->ttl <= 1))
		return send_time_exceeded(ctx, c);
	copy16(&to.src, record->addr);
	to.sport = record->port;
	copy16(&to.dst, record->client);
	to.dport = record->client_port;
	to.hop = 1;
	if (unlikely(!next_hop_to_client(ctx, c, &to.dst, &record->return_hop, &next_hop)))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (unlikely(too_large(ctx, c, c->length, &next_hop)))
		return send_too_big(ctx, c, next_hop.mtu);
	if (unlikely(is_tcp(c) && !(c->marks & LATER_FRAGMENT) && shift_of(record)))
		shift(ctx, c, 4, shift_of(record));
	if (unlikely(!translate(ctx, c, &to)))
		return drop(c, NO_CONFIGURATION);
	return send_frame(ctx, c, &next_hop, RETURNED);
}

#endif
