/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Ports of return addresses. A share's clock hand goes round its records, so the port that is free for longest goes
 * first, and none whose closing time runs. Where none is free, that of a connection that was idle for long gives way.
 * What a record was before is forgotten when it is taken. */
#ifndef STEELYARD_PORTS_H
#define STEELYARD_PORTS_H

#include "direct.h"

/* Shares of one server that are tried for one connection. */
#define SHARES_LIMIT 16

/* Keys of answers that keep the client's address are kept apart from those of clients. */
#define ANSWERS 0x20000

/* `middle` is the protocol with `RECORD_…` above it. */
INLINE __u64 record_word(__u32 deadline, __u32 middle, __u32 state)
{
	return (__u64)deadline << 32 | middle << 8 | state;
}

INLINE int is_live(__u64 word, __u32 tick)
{
	return (word & 0xff) != FREE && (__s32)((__u32)(word >> 32) - tick) > 0;
}

/* Ticks that a connection must have been idle to give way to another one: five minutes. */
#define YIELD_TICKS 1118

/* The turn of a hand. */
struct turn {
	__u32 share;
	__u32 first;
	__u32 ports;
	__u32 tick;
	__u32 record;
	/* Connections that were idle for long give way. */
	__u32 pressed;
	__u64 was;
	/* First record and ports of another share of this server and return address, whose connections may have this
	 * one's server port; 0 ports where there is none. */
	__u32 sibling_first;
	__u32 sibling_ports;
	/* The server port that is used; 0 where all connections of the other share have it. */
	__be16 port;
	__u16 pad[3];
};

/* Whether a living connection is established and was idle for so long that it gives way. */
INLINE int is_replaceable_record(const struct record *record, __u64 word, __u32 tick)
{
	struct server *server = entry(servers, record->server);
	struct service *service = server ? entry(services, server->service) : NULL;
	__s32 rest = (__u32)(word >> 32) - tick;

	return (word & 0xff) == ESTABLISHED && service && rest + YIELD_TICKS <= (__s32)service->idle;
}

/* Whether the other share has a connection with this port of ours and the same port of the server. */
INLINE int is_used_in_sibling(const struct turn *turn, __u32 at)
{
	struct record *other = at < turn->sibling_ports ? entry(records, turn->sibling_first + at) : NULL;
	__u64 word = other ? *(volatile __u64 *)&other->word : 0;

	/* What is being filled in may become one. */
	return other && is_live(word, turn->tick) &&
	       (!turn->port || (word & 0xff) == CLAIMED || other->port == turn->port);
}

static long try_port(__u32 i, void *context)
{
	struct turn *turn = context;
	struct hand *hand = entry(hands, turn->share);
	struct record *record;
	__u32 index;
	__u64 word;

	if (!hand || !turn->ports)
		return 1;
	index = turn->first + __sync_fetch_and_add(&hand->turn, 1) % turn->ports;
	record = entry(records, index);
	if (!record)
		return 1;
	word = *(volatile __u64 *)&record->word;
	if (is_live(word, turn->tick) && !(turn->pressed && is_replaceable_record(record, word, turn->tick)))
		return 0;
	if (__sync_val_compare_and_swap(&record->word, word, record_word(turn->tick + 8, 0, CLAIMED)) != word)
		return 0;
	/* Claimed first: of two CPUs that take the same port in both shares one sees the other. */
	if (unlikely(turn->sibling_ports) && is_used_in_sibling(turn, index - turn->first)) {
		__sync_lock_test_and_set(&record->word, word);
		return 0;
	}
	turn->record = index;
	turn->was = word;
	return 1;
}

/* Forgets the keys of what a record was. */
GLOBAL int forget_record(const struct config *k, const struct record *record, __u64 was, __u32 index)
{
	__u32 proto = was >> 8 & 0xff;
	const struct addr *client;
	struct share *share;
	struct server *server;

	if (!k || !record || (was & 0xff) == FREE)
		return 0;
	client = (const struct addr *)record->client;
	forget(&forward, k->forward_mask,
	       flow_fingerprint(k, client, (const struct addr *)record->addr, record->client_port, record->port, proto), index);
	share = entry(shares, record->share);
	server = entry(servers, record->server);
	if (!share || !server || !(share->flags & SHARE_CLIENT))
		return 1;
	forget(&forward, k->forward_mask,
	       flow_fingerprint(k, (const struct addr *)server->addr, client, server->port ? server->port : record->port,
			record->client_port, proto | ANSWERS),
	       index);
	return 1;
}

/* The share of an answer's ends with this server's port, 0 for that of all ports; or `NONE`. */
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
	} else {
		struct share6 key = { .port = port, .proto = proto };

		copy16((struct addr *)key.server, server);
		if (back)
			copy16((struct addr *)key.back, back);
		found = bpf_map_lookup_elem(&shares6, &key);
	}
	return found ? *found : NONE;
}

/* Finds the other share of a server and return address: that of all ports beside one of one port, or the reverse. */
INLINE void find_sibling_share(struct turn *turn, const struct server *server, const struct share *share, __be16 port)
{
	struct share *other;
	__u32 index;

	if (share->flags & SHARE_CLIENT)
		return;
	index = share_of((const struct addr *)server->addr, (const struct addr *)share->back, server->port ? 0 : port,
			 share->proto);
	other = index == NONE ? NULL : entry(shares, index);
	if (!other)
		return;
	turn->sibling_first = other->first;
	turn->sibling_ports = other->ports;
	turn->port = server->port;
}

/* Takes a record of some share of the server; `NONE` when no port is free. A second round takes those of connections that
 * were idle for long. */
GLOBAL __u32 take_port(struct cursor *c, const struct config *k, const struct server *server)
{
	struct plane_count *plane;
	struct hand *hand;
	__u32 from, *first;

	if (!c || !k || !server || !server->share_count)
		return NONE;
	first = entry(share_list, server->share_first);
	hand = first ? entry(hands, *first) : NULL;
	from = hand ? __sync_fetch_and_add(&hand->share_turn, 1) : 0;
	for (__u32 i = 0; i < 2 * SHARES_LIMIT; i++) {
		struct turn turn = { .tick = c->tick, .record = NONE, .pressed = i >= server->share_count };
		struct share *share;
		struct record *record;
		__u32 *index;

		if (i >= 2 * server->share_count)
			break;
		index = entry(share_list, server->share_first + (from + i) % server->share_count);
		share = index ? entry(shares, *index) : NULL;
		if (!share || share->proto != c->proto)
			continue;
		turn.share = *index;
		turn.first = share->first;
		turn.ports = share->ports;
		if (unlikely(k->flags & CONFIG_PORT_PAIRS))
			find_sibling_share(&turn, server, share, c->dport);
		bpf_loop(PORT_STEPS, try_port, &turn, 0);
		if (turn.record == NONE)
			continue;
		record = entry(records, turn.record);
		if (!record)
			continue;
		forget_record(k, record, turn.was, turn.record);
		record->share = turn.share;
		plane = turn.pressed ? entry(plane_counts, 0) : NULL;
		if (plane)
			plane->evicted++;
		return turn.record;
	}
	return NONE;
}

#endif
