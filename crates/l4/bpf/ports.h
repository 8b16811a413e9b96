/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Ports of return addresses. A share's clock hand goes round its records, so the port that is free for longest goes
 * first, and none whose closing time runs. What a record was before is forgotten when it is taken. */
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

INLINE int living(__u64 word, __u32 tick)
{
	return (word & 0xff) != FREE && (__s32)((__u32)(word >> 32) - tick) > 0;
}

/* The turn of a hand. */
struct turn {
	__u32 share;
	__u32 first;
	__u32 ports;
	__u32 tick;
	__u32 record;
	__u32 pad;
	__u64 was;
};

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
	if (living(word, turn->tick))
		return 0;
	if (__sync_val_compare_and_swap(&record->word, word, record_word(turn->tick + 8, 0, CLAIMED)) != word)
		return 0;
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
	       print_of(k, client, (const struct addr *)record->addr, record->client_port, record->port, proto), index);
	share = entry(shares, record->share);
	server = entry(servers, record->server);
	if (!share || !server || !(share->flags & SHARE_CLIENT))
		return 1;
	forget(&forward, k->forward_mask,
	       print_of(k, (const struct addr *)server->addr, client, server->port ? server->port : record->port,
			record->client_port, proto | ANSWERS),
	       index);
	return 1;
}

/* Takes a record of some share of the server; `NONE` when no port is free. */
GLOBAL __u32 take_port(struct cursor *c, const struct config *k, const struct server *server)
{
	struct hand *hand;
	__u32 from, *first;

	if (!c || !k || !server || !server->share_count)
		return NONE;
	first = entry(share_list, server->share_first);
	hand = first ? entry(hands, *first) : NULL;
	from = hand ? __sync_fetch_and_add(&hand->share_turn, 1) : 0;
	for (__u32 i = 0; i < SHARES_LIMIT; i++) {
		struct turn turn = { .tick = c->tick, .record = NONE };
		struct share *share;
		struct record *record;
		__u32 *index;

		if (i >= server->share_count)
			break;
		index = entry(share_list, server->share_first + (from + i) % server->share_count);
		share = index ? entry(shares, *index) : NULL;
		if (!share || share->proto != c->proto)
			continue;
		turn.share = *index;
		turn.first = share->first;
		turn.ports = share->ports;
		bpf_loop(PORT_STEPS, try_port, &turn, 0);
		if (turn.record == NONE)
			continue;
		record = entry(records, turn.record);
		if (!record)
			continue;
		forget_record(k, record, turn.was, turn.record);
		record->share = turn.share;
		return turn.record;
	}
	return NONE;
}

#endif
