/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* `nat`: both directions come through here. A connection has a record, found from its client's side by key and from
 * its server's side by share and port. */
#ifndef STEELYARD_NAT_H
#define STEELYARD_NAT_H

#include "cookie.h"
#include "learn.h"
#include "normalize.h"

#define record_state(word) ((word) & 0xff)
#define by_cookie(word) ((word) >> 16 & RECORD_COOKIE)

/* What the client's numbers of its server are above the server's own. */
INLINE __u32 shift_of(const struct record *record)
{
	__u64 word = *(volatile const __u64 *)&record->word;

	return by_cookie(word) && record_state(word) != EMBRYONIC ? record->stamp : 0;
}

/* What a connection's sides have said. */
INLINE __u32 after_client(const struct cursor *c, __u32 state)
{
	if (!is_tcp(c))
		return DATAGRAM;
	/* A client that was answered for an old connection of the port resets that and sends its SYN again (RFC 9293
	 * §3.5.1). */
	if (c->tcp & RST)
		return state == EMBRYONIC ? EMBRYONIC : CLOSING;
	if (c->tcp & FIN)
		return state == SERVER_CLOSED || state == CLOSING ? CLOSING : CLIENT_CLOSED;
	return state == EMBRYONIC && !(c->tcp & SYN) ? ESTABLISHED : state;
}

INLINE __u32 after_server(const struct cursor *c, __u32 state)
{
	if (!is_tcp(c))
		return DATAGRAM;
	if (c->tcp & RST)
		return CLOSING;
	if (c->tcp & FIN)
		return state == CLIENT_CLOSED || state == CLOSING ? CLOSING : SERVER_CLOSED;
	return state;
}

/* Writes state and deadline when they changed. A closing connection's time runs on unless a side closes again. */
INLINE void update_record(struct cursor *c, const struct service *service, struct record *record, __u64 old, __u32 next)
{
	__u32 state = record_state(old);
	__u64 new;

	if (state == CLOSING && next == CLOSING && !(c->tcp & (FIN | RST)))
		return;
	new = record_word(c->tick + time_of(service, next), (__u32)old >> 8, next);
	if (likely(new == old) || __sync_val_compare_and_swap(&record->word, old, new) != old)
		return;
	if (state == EMBRYONIC && next != EMBRYONIC)
		count_half_open(c, -1);
	else if (state != EMBRYONIC && next == EMBRYONIC)
		count_half_open(c, 1);
	if (unlikely(state != next && service->flags & SERVICE_TELLS_FLOWS))
		note(&records_changed, c->record);
}

/* Remembers where the client's numbers end, for whoever uses its port next. */
GLOBAL int note_end(struct xdp_md *ctx, struct cursor *c, struct record *record)
{
	__u32 stamp;

	if (!c || !record)
		return 0;
	record->end = c->seq + (c->length - (c->l4 - c->l3) - c->tcp_size) + !!(c->tcp & FIN) + !!(c->tcp & SYN);
	if (by_cookie(*(volatile __u64 *)&record->word))
		return 1;
	stamp = stamp_of(ctx, c);
	record->stamp = stamp;
	return 1;
}

/* Whether a SYN may open a connection whose closing time still runs (RFC 9293 §3.6.1, RFC 6191 §2). */
GLOBAL int may_reuse(struct xdp_md *ctx, struct cursor *c, const struct record *record)
{
	__u32 stamp;

	if (!c || !record)
		return 0;
	stamp = by_cookie(record->word) ? 0 : stamp_of(ctx, c);
	if (stamp && record->stamp && stamp != record->stamp)
		return (__s32)(stamp - record->stamp) > 0;
	return (__s32)(c->seq - record->end) > 0;
}

/* Whether a record is this client's, in every bit of its key. */
INLINE int is_record_of_client(const struct record *record, const struct cursor *c)
{
	return same((const struct addr *)record->client, &c->src) && same((const struct addr *)record->addr, &c->dst) &&
	       record->client_port == c->sport && record->port == c->dport;
}

/* The flow of a connection to a server on this host, which needs no record. */
GLOBAL int has_local_flow(struct cursor *c, const struct config *k, const struct service *service, __u64 fingerprint)
{
	return c && k && service && find_flow(c, k, service, fingerprint);
}

/* Writes the client's end of a new connection to its record. */
INLINE void describe_client(struct xdp_md *ctx, struct cursor *c, struct record *record)
{
	copy16((struct addr *)record->client, &c->src);
	copy16((struct addr *)record->addr, &c->dst);
	record->client_port = c->sport;
	record->port = c->dport;
	record->server = c->server;
	record->end = c->seq;
	record->stamp = c->cookie;
	record->return_hop = next_hop_from_packet(ctx, c);
}

/* What an earlier connection's ends announced is not of the next one. */
INLINE int forget_announced(__u32 record)
{
	struct announced *both = entry(announced, record / 2);
	__u32 at = record & 1;

	if (!both)
		return 0;
	both->client[at] = both->server[at] = 0;
	return 1;
}

/* A new connection: chooses a server and takes a port. Ends the walk, or goes on with `c->record`. */
GLOBAL int open_record(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct service *service)
{
	__u32 state = DATAGRAM, middle, index;
	struct record *record;
	struct server *server;
	struct share *share;
	__u64 fingerprint;
	int done;

	if (!c || !k || !service)
		return XDP_DROP;
	if (is_tcp(c)) {
		if (!opens(c))
			return drop(c, NO_FLOW);
		state = EMBRYONIC;
	}
	done = admit_and_count(k, c, service);
	if (done != GO_ON)
		return done;
	c->server = choose(k, c, service);
	if (c->server == REFUSED)
		return drop(c, RULE_DROPPED);
	server = entry(servers, c->server);
	if (c->server == NONE || !server || !serves_family_of(server, c))
		return drop(c, NO_SERVER);
	fingerprint = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, c->proto);
	if (server->flags & SERVER_LOCAL) {
		if (c->marks & WITH_COOKIE)
			return drop(c, NO_SERVER);
		store_flow(c, k, service, fingerprint);
		return GO_ON;
	}
	index = take_port(c, k, server);
	record = entry(records, index);
	if (index == NONE || !record) {
		send_event(c, EVENT_NO_PORT, 0, (const struct addr *)server->addr);
		return drop(c, NO_PORT);
	}
	describe_client(ctx, c, record);
	if (insert(&forward, k->forward_mask, fingerprint, word_of(fingerprint, index, 1), c->tick, 0, NULL) == FULL) {
		record->word = 0;
		send_event(c, EVENT_TABLE_FULL, 0, &c->dst);
		return drop(c, TABLE_FULL);
	}
	share = entry(shares, record->share);
	if (share && share->flags & SHARE_CLIENT) {
		fingerprint = flow_fingerprint(k, (const struct addr *)server->addr, &c->src,
				 server->port ? server->port : c->dport, c->sport, c->proto | ANSWERS);
		insert(&forward, k->forward_mask, fingerprint, word_of(fingerprint, index, 1), c->tick, 0, NULL);
	}
	middle = c->proto;
	if (c->per_client) {
		set_record_owner(&record_owners, index, c, 0);
		middle |= RECORD_OWNED << 8;
	}
	if (c->marks & WITH_COOKIE)
		middle |= RECORD_COOKIE << 8;
	if (unlikely(action_of(service->normalize, EXCEED_MSS)) && forget_announced(index))
		middle |= RECORD_SIZED << 8;
	__sync_lock_test_and_set(&record->word, record_word(c->tick + time_of(service, state), middle, state));
	count_flow(c, 0);
	if (state == EMBRYONIC)
		count_half_open(c, 1);
	if (unlikely(service->flags & SERVICE_TELLS_FLOWS))
		note(&records_changed, index);
	c->record = index;
	return GO_ON;
}

/* Whether a client's connection has a record. */
GLOBAL int is_known(struct cursor *c, const struct config *k)
{
	struct record *record;
	__u64 fingerprint, *word, old;

	if (!c || !k)
		return 0;
	fingerprint = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, c->proto);
	word = find(&forward, k->forward_mask, fingerprint);
	old = word ? read_word(word, fingerprint) : 0;
	record = old ? entry(records, (__u32)old) : NULL;
	return record && is_live(*(volatile __u64 *)&record->word, c->tick) && is_record_of_client(record, c);
}

/* The client's side. Ends the walk, or goes on with `c->server` and `c->record`. */
INLINE int find_record(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct service *service)
{
	__u64 fingerprint = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, c->proto), old;
	__u64 *word = find(&forward, k->forward_mask, fingerprint);
	struct record *record;
	__u32 state;

	if (!word || !(old = read_word(word, fingerprint))) {
		if (unlikely(service->flags & SERVICE_LOCAL) && has_local_flow(c, k, service, fingerprint))
			return GO_ON;
		return open_record(ctx, c, k, service);
	}
	c->record = (__u32)old;
	record = entry(records, c->record);
	if (!record)
		return drop(c, NO_CONFIGURATION);
	old = *(volatile __u64 *)&record->word;
	state = record_state(old);
	c->server = record->server;
	if (unlikely(!is_live(old, c->tick) || state == CLAIMED || !is_record_of_client(record, c) ||
		     !has_server_flags(c->server, SERVER_SERVES))) {
		struct server *gone = entry(servers, c->server);

		if (is_live(old, c->tick) && gone && gone->flags & SERVER_RESETS && is_tcp(c) && !opens(c))
			return GO_ON;
		forget(&forward, k->forward_mask, fingerprint, c->record);
		return open_record(ctx, c, k, service);
	}
	if (unlikely(opens(c) && state >= CLIENT_CLOSED && state <= CLOSING)) {
		if (!may_reuse(ctx, c, record))
			return drop(c, PREMATURE_REUSE);
		/* What is known of the other numbers does not hold for new ones. */
		if (!has_server_flags(c->server, SERVER_TAKES) || by_cookie(old)) {
			forget(&forward, k->forward_mask, fingerprint, c->record);
			return open_record(ctx, c, k, service);
		}
		update_record(c, service, record, old, EMBRYONIC);
		count_flow(c, 0);
		return GO_ON;
	}
	if (unlikely(state == EMBRYONIC && by_cookie(old)) && !resend_syn(ctx, c, record))
		return drop(c, NO_FLOW);
	if (unlikely(c->tcp & (FIN | RST)))
		note_end(ctx, c, record);
	/* Another machine told of the connection, which knows no way to its client from here. */
	if (unlikely((record->return_hop & 0xfff) == LEARNED_NONE))
		record->return_hop = next_hop_from_packet(ctx, c);
	update_record(c, service, record, old, after_client(c, state));
	return GO_ON;
}

/* What the ends of a client's packet are towards its server. */
INLINE int server_ends(const struct cursor *c, const struct server *server, struct ends *to)
{
	struct record *record = entry(records, c->record);
	struct share *share = record ? entry(shares, record->share) : NULL;

	if (!record || !share)
		return 0;
	if (share->flags & SHARE_CLIENT) {
		copy16(&to->src, record->client);
		to->sport = record->client_port;
	} else {
		copy16(&to->src, share->back);
		to->sport = bpf_htons(FIRST_PORT + (c->record - share->first));
	}
	copy16(&to->dst, server->addr);
	to->dport = server->port ? server->port : record->port;
	to->hop = 1;
	return 1;
}

GLOBAL int nat_out(struct xdp_md *ctx, struct cursor *c, const struct server *server)
{
	struct record *record;
	struct ends to;
	struct next_hop next_hop;

	if (!c || !server)
		return XDP_DROP;
	if (unlikely(server->flags & SERVER_LOCAL))
		return end(c, COLLOCATED, XDP_PASS);
	if (unlikely(c->ttl <= 1))
		return send_time_exceeded(ctx, c);
	if (unlikely(!next_hop_to(ctx, c, server, &next_hop)))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (unlikely(too_large(ctx, c, c->length, &next_hop)))
		return send_too_big(ctx, c, next_hop.mtu);
	record = entry(records, c->record);
	if (unlikely(record && c->tcp & ACK && shift_of(record)))
		shift(ctx, c, 8, -shift_of(record));
	if (unlikely(!server_ends(c, server, &to) || !translate(ctx, c, &to)))
		return drop(c, NO_CONFIGURATION);
	return send_frame(ctx, c, &next_hop, FORWARDED);
}

#endif
