/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Flows of the methods whose answers go past us (`mac`, `tunnel`): which server a packet's connection has, and what
 * the client's packets say of its state. A connection that is not known chooses, with or without a SYN. */
#ifndef STEELYARD_DIRECT_H
#define STEELYARD_DIRECT_H

#include "guard.h"
#include "pick.h"

#define STATE_SHIFT 28

INLINE __u32 state_of(__u64 word)
{
	return (__u32)word >> STATE_SHIFT;
}

INLINE __u32 server_of(__u64 word)
{
	return (__u32)word & 0xfffffff;
}

/* The state after a packet of the client. */
INLINE __u32 next_state(const struct cursor *c, __u32 state)
{
	if (!is_tcp(c))
		return DATAGRAM;
	if (c->tcp & RST)
		return CLOSING;
	if (c->tcp & SYN)
		return state == ESTABLISHED ? ESTABLISHED : EMBRYONIC;
	if (c->tcp & FIN)
		return CLIENT_CLOSED;
	return state == EMBRYONIC ? ESTABLISHED : state;
}

INLINE __u32 time_of(const struct service *service, __u32 state)
{
	switch (state) {
	case EMBRYONIC:
		return service->embryonic;
	case CLIENT_CLOSED:
	case SERVER_CLOSED:
		return service->half_closed;
	case CLOSING:
		return service->closing;
	case DATAGRAM:
		return service->datagram;
	default:
		return service->idle;
	}
}

INLINE void count_flow(struct cursor *c, int adopted)
{
	struct server_count *row = entry(server_counts, c->server);
	struct gauge *gauge = entry(gauges, c->service);

	if (row) {
		row->flows++;
		row->adopted += adopted;
	}
	if (gauge)
		__sync_fetch_and_add(&gauge->new_flows, 1);
}

/* Half-open connections that came (1) or went (-1). */
INLINE void count_half_open(struct cursor *c, __u32 change)
{
	struct gauge *gauge = entry(gauges, c->service);

	if (gauge)
		__sync_fetch_and_add(&gauge->new_half_open, change);
}

/* Enters the flow of a packet that chose `c->server`. */
INLINE void store_flow(struct cursor *c, const struct config *k, const struct service *service, __u64 fingerprint)
{
	__u32 state = is_tcp(c) && !(c->tcp & SYN) && !(c->tcp & RST) ? ESTABLISHED : next_state(c, FREE), at = 0;
	__u64 word = word_of(fingerprint, state << STATE_SHIFT | c->server, c->tick + time_of(service, state));
	int done = insert(&flows, k->flow_mask, fingerprint, word, c->tick, 1, &at);

	if (done == EVICTED) {
		struct plane_count *plane = entry(plane_counts, 0);

		if (plane)
			plane->evicted++;
	}
	if (c->per_client && done != FULL)
		set_record_owner(&flow_owners, at, c, fingerprint);
	if (unlikely(service->flags & SERVICE_TELLS_FLOWS) && done != FULL)
		note(&flows_changed, at);
	count_flow(c, is_tcp(c) && !opens(c));
	if (state == EMBRYONIC)
		count_half_open(c, 1);
}

/* A server for a packet without a flow, and the flow. Ends the walk, or goes on with `c->server`. */
GLOBAL int start_flow(struct cursor *c, const struct config *k, const struct service *service, __u64 fingerprint)
{
	__u32 server;
	int done;

	if (!c || !k || !service)
		return XDP_DROP;
	if (opens(c) || !is_tcp(c)) {
		done = admit_and_count(k, c, service);
		if (done != GO_ON)
			return done;
	}
	server = choose(k, c, service);
	if (server == REFUSED)
		return drop(c, RULE_DROPPED);
	if (server == NONE)
		return drop(c, NO_SERVER);
	c->server = server;
	store_flow(c, k, service, fingerprint);
	return GO_ON;
}

/* Sets `c->server` to the server of a flow that is known and lives; 0 when there is none. */
INLINE int find_flow(struct cursor *c, const struct config *k, const struct service *service, __u64 fingerprint)
{
	__u64 *word = find(&flows, k->flow_mask, fingerprint), old, new;
	__u32 state, next;

	old = word ? read_word(word, fingerprint) : 0;
	if (unlikely(!old))
		return 0;
	state = state_of(old);
	c->server = server_of(old);
	if (unlikely(remaining_ticks(old, c->tick) <= 0 ||
		     !has_server_flags(c->server, opens(c) && state >= CLIENT_CLOSED ? SERVER_SERVES | SERVER_TAKES
									  : SERVER_SERVES))) {
		struct server *gone = entry(servers, c->server);

		if (gone && gone->flags & SERVER_RESETS && is_tcp(c) && !opens(c))
			return 1;
		forget(&flows, k->flow_mask, fingerprint, (__u32)old);
		return 0;
	}
	next = next_state(c, state);
	new = word_of(fingerprint, next << STATE_SHIFT | c->server, c->tick + time_of(service, next));
	if (new != old && __sync_val_compare_and_swap(word, old, new) == old) {
		if (state == EMBRYONIC && next != EMBRYONIC)
			count_half_open(c, -1);
		else if (state != EMBRYONIC && next == EMBRYONIC)
			count_half_open(c, 1);
		if (unlikely(state != next && service->flags & SERVICE_TELLS_FLOWS))
			note_flow(k, fingerprint);
	}
	return 1;
}

/* Sets `c->server` to the connection's server. */
INLINE int find_or_start_flow(struct cursor *c, const struct config *k, const struct service *service)
{
	__u64 fingerprint = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, c->proto);

	c->sample_draw = (fingerprint >> 33) + 1;
	if (likely(find_flow(c, k, service, fingerprint)))
		return GO_ON;
	return start_flow(c, k, service, fingerprint);
}

#endif
