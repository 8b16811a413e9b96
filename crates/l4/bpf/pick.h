/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Chooses a server for a new connection: the sticky table first, then the pool's schedule, by turn or by the client's
 * hash; where it began elsewhere, by a hash of the connection in place of the turn. User space makes schedules (weighted round-robin or Maglev); here they are only walked. */
#ifndef STEELYARD_PICK_H
#define STEELYARD_PICK_H

#include "changed.h"
#include "hash.h"

INLINE int has_server_flags(__u32 server, __u32 need)
{
	struct server *one = entry(servers, server);

	return one && (one->flags & need) == need;
}

/* Whether a server can have a client's packets: what is translated keeps its family. */
INLINE int serves_family_of(const struct server *server, const struct cursor *c)
{
	return !(server->flags & SERVER_TRANSLATES) || server->flags & SERVER_LOCAL ||
	       is_mapped((const struct addr *)server->addr) == (c->family == 4);
}

/* Whether a server of this service goes on with a client that sticks to it. */
INLINE int accepts_sticky_client(__u32 server, const struct cursor *c)
{
	struct server *one = entry(servers, server);

	return one && one->service == c->service && one->flags & SERVER_SERVES &&
	       one->flags & (SERVER_TAKES | SERVER_KEEPS) && serves_family_of(one, c);
}

/* The pool that the packet's family chooses from. */
INLINE __u32 pool_for(const struct cursor *c, __u32 index)
{
	struct pool *pool;

	if (likely(c->family == 4))
		return index;
	pool = entry(pools, index);
	return pool && pool->pool6 ? pool->pool6 - 1 : index;
}

/* What a connection that is not known here is chosen by: the same on every machine, each time. */
INLINE __u32 connection_hash(const struct cursor *c)
{
	__u64 hash = client_hash(&c->src) ^ ((__u64)c->sport << 16 | c->dport);

	return hash * 0x9e3779b97f4a7c15ULL >> 32;
}

/* Spreads each bit over all (the finalizer of MurmurHash3). */
INLINE __u64 mixed(__u64 x)
{
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

INLINE __u64 end_hash(const struct addr *a, __be16 port)
{
	return mixed(client_hash(a) + bpf_ntohs(port));
}

/* The place of a connection in a table of a hash, or `NONE` where the pool has none. */
INLINE __u32 hashed_place(const struct cursor *c, const struct pool *pool)
{
	__u64 hash;

	switch (pool->choose) {
	case CLIENT: {
		struct addr network = { { 0 } };

		masked(&network, &c->src, pool->mask4, pool->mask6);
		hash = client_hash(&network);
		break;
	}
	case SYMMETRIC:
		hash = end_hash(&c->src, c->sport) + end_hash(&c->dst, c->dport);
		break;
	case LINK_SOURCE:
		hash = mixed(c->link_source);
		break;
	default:
		return NONE;
	}
	return hash % pool->length;
}

/* A walk along a schedule. */
struct walk {
	__u32 first;
	__u32 length;
	__u32 at;
	__u32 refused;
	__u32 found;
};

static long step(__u32 i, void *context)
{
	struct walk *walk = context;
	__u32 *server;

	if (walk->at >= walk->length)
		walk->at = 0;
	server = entry(schedule, walk->first + walk->at);
	if (!server)
		return 1;
	walk->at++;
	if (*server == walk->refused)
		return 0;
	if (has_server_flags(*server, SERVER_TAKES | SERVER_SERVES)) {
		walk->found = *server;
		return 1;
	}
	walk->refused = *server;
	return 0;
}

/* Walks a schedule from `at` to the first server that takes connections. */
INLINE __u32 next_taking_server(const struct pool *pool, __u32 at)
{
	struct walk walk = { pool->first, pool->length, at, NONE, NONE };
	__u32 *server = entry(schedule, pool->first + at);

	if (likely(server && has_server_flags(*server, SERVER_TAKES | SERVER_SERVES)))
		return *server;
	bpf_loop(PICK_STEPS, step, &walk, 0);
	return walk.found;
}

INLINE __u64 sticky_fingerprint(const struct config *k, const struct cursor *c, const struct pool *pool)
{
	struct addr network = { { 0 } }, scope = { { pool->sticky_scope, 0, MAPPED, pool->sticky_scope } };

	masked(&network, &c->src, pool->sticky_mask4, pool->sticky_mask6);
	return flow_fingerprint(k, &network, &scope, 0, c->family, 0x10000);
}

/* A server of the pool, or `NONE`. */
GLOBAL __u32 pick(const struct config *k, struct cursor *c, __u32 pool_index)
{
	struct pool *pool = entry(pools, pool_index);
	__u32 chosen, at = 0, *turn;
	__u64 fingerprint = 0, *word;

	if (!pool || !pool->length || !k || !c)
		return NONE;
	if (pool->sticky) {
		fingerprint = sticky_fingerprint(k, c, pool);
		word = find(&sticky, k->sticky_mask, fingerprint);
		if (word) {
			__u64 old = read_word(word, fingerprint);
			__u32 kept = old & 0xfffffff;

			if (old && remaining_ticks(old, c->tick) > 0 && accepts_sticky_client(kept, c)) {
				__sync_val_compare_and_swap(word, old,
							    word_of(fingerprint, kept, c->tick + pool->sticky));
				/* Not each time: another machine may forget it sooner by so much. */
				if (c->marks & NOTES_STICKY && remaining_ticks(old, c->tick) < (__s32)(pool->sticky - pool->sticky / 8))
					note_sticky(k, fingerprint);
				return kept;
			}
			forget(&sticky, k->sticky_mask, fingerprint, (__u32)old);
		}
	}
	if (pool->choose != TURN) {
		at = hashed_place(c, pool);
	} else if (unlikely(is_tcp(c) && !opens(c))) {
		at = connection_hash(c) % pool->length;
	} else {
		turn = entry(turns, pool_index);
		if (turn)
			at = __sync_fetch_and_add(turn, 1) % pool->length;
	}
	chosen = next_taking_server(pool, at);
	if (pool->sticky && chosen != NONE) {
		__u32 place = NONE;

		if (insert(&sticky, k->sticky_mask, fingerprint, word_of(fingerprint, chosen, c->tick + pool->sticky), c->tick, 1,
			   &place) != FULL &&
		    c->marks & NOTES_STICKY)
			note(&sticky_changed, place);
	}
	return chosen;
}

/* Whether a rule's rate has room; takes of it when it has. */
INLINE int take_from_rate(__u64 *used, __u64 now, __u64 cost, __u64 burst)
{
	__u64 old, until;

	if (!cost)
		return 1;
	old = *(volatile __u64 *)used;
	until = (old > now ? old : now) + cost;
	if (until - now > burst + cost)
		return 0;
	__sync_val_compare_and_swap(used, old, until);
	return 1;
}

INLINE int matches_rule(const struct rule *rule, const struct cursor *c)
{
	const __u32 *client = (const __u32 *)rule->client, *mask = (const __u32 *)rule->client_mask;
	__u16 sport = bpf_ntohs(c->sport), dport = bpf_ntohs(c->dport);

	if (!(rule->flags & RULE_ON))
		return 0;
#pragma unroll
	for (int i = 0; i < 4; i++) {
		if ((c->src.w[i] & mask[i]) != client[i])
			return 0;
	}
	return sport >= rule->client_from && sport <= rule->client_to && dport >= rule->port_from &&
	       dport <= rule->port_to && (c->tos & rule->tos_mask) == rule->tos;
}

/* Chosen by no server: a rule said so. */
#define REFUSED 0xfffffffe

/* The look for a rule. */
struct look {
	const struct cursor *c;
	__u32 first;
	__u32 count;
	__u32 pool;
	__u32 pad;
};

static long try_rule(__u32 i, void *context)
{
	struct look *look = context;
	__u32 at = look->first + i;
	struct rule *rule;
	struct pool *pool;
	__u64 *used;

	if (i >= look->count)
		return 1;
	rule = entry(rules, at);
	used = entry(rule_used, at);
	if (!rule || !used || !matches_rule(rule, look->c))
		return 0;
	if (rule->pool != NONE) {
		pool = entry(pools, pool_for(look->c, rule->pool));
		if (!pool || !pool->length)
			return 0;
	}
	if (!take_from_rate(used, look->c->ns, rule->cost, rule->burst))
		return 0;
	look->pool = rule->pool == NONE ? REFUSED : rule->pool;
	return 1;
}

/* A server for a new connection: of the pool of the first rule that fits and has servers, else the service's own. */
GLOBAL __u32 choose(const struct config *k, struct cursor *c, const struct service *service)
{
	struct look look = { .c = c, .pool = NONE };
	__u32 chosen;

	if (!k || !c || !service)
		return NONE;
	if (service->flags & SERVICE_TELLS_STICKY)
		c->marks |= NOTES_STICKY;
	if (service->rule_count) {
		look.first = service->rule_first;
		look.count = service->rule_count;
		bpf_loop(RULES_LIMIT, try_rule, &look, 0);
		if (look.pool == REFUSED)
			return REFUSED;
		if (look.pool != NONE) {
			chosen = pick(k, c, pool_for(c, look.pool));
			if (chosen != NONE)
				return chosen;
		}
	}
	return pick(k, c, pool_for(c, service->pool));
}

#endif
