/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* How many connections each client has, whatever the method: one more is entered when a connection is let in, and the
 * sweep writes what it counted. The tables of connections do not name clients, so each connection that is counted
 * says in `flow_owners` or `record_owners` whose it is. */
#ifndef STEELYARD_PER_CLIENT_H
#define STEELYARD_PER_CLIENT_H

#include "flow.h"
#include "hash.h"

/* Ticks that an entry is kept without a connection; the sweep renews those that have some. */
#define PER_CLIENT_TICKS 40
/* Attempts at an entry that other CPUs change too; beyond them a connection is let in uncounted. */
#define PER_CLIENT_TRIES 4
#define PER_CLIENT_INDEX_MASK 0xfffff

/* Whether the sweep lives: what rests on its counting would be wrong without it. */
INLINE int is_sweeper_alive(const struct config *k, const struct cursor *c)
{
	return c->tick - k->swept < SWEPT_TICKS;
}

INLINE __u64 client_fingerprint(const struct config *k, const struct cursor *c, const struct service *service)
{
	struct addr network = { { 0 } }, scope = { { c->service, 0, MAPPED, c->service } };

	masked(&network, &c->src, service->source_mask4, service->source_mask6);
	return flow_fingerprint(k, &network, &scope, 0, c->family, 0x10001);
}

/* The entry of a client, made when it is new: its number is left in `place`. */
INLINE __u64 *per_client_entry(const struct config *k, const struct cursor *c, __u64 fingerprint, __u32 *place)
{
	struct bucket *bucket;
	__u32 at;

#pragma unroll
	for (int second = 0; second < 2; second++) {
		at = bucket_at(fingerprint, k->per_client_mask, second);
		bucket = bpf_map_lookup_elem(&per_client, &at);
		if (!bucket)
			return NULL;
#pragma unroll
		for (int i = 0; i < WAYS_IN_BUCKET; i++) {
			if (*(volatile __u64 *)&bucket->fingerprint[i] == fingerprint) {
				*place = at * WAYS_IN_BUCKET + i;
				return &bucket->word[i];
			}
		}
	}
	if (insert(&per_client, k->per_client_mask, fingerprint, word_of(fingerprint, 0, c->tick + PER_CLIENT_TICKS), c->tick, 1, place) == FULL)
		return NULL;
	return find(&per_client, k->per_client_mask, fingerprint);
}

/* Enters one more connection of a client; 0 when it has as many as it may. */
GLOBAL int count_client_connection(const struct config *k, struct cursor *c, const struct service *service)
{
	__u64 fingerprint, *word, old;
	__u32 place = 0, held;

	if (!k || !c || !service)
		return 0;
	fingerprint = client_fingerprint(k, c, service);
	word = per_client_entry(k, c, fingerprint, &place);
	if (!word)
		return 1;
	for (int i = 0; i < PER_CLIENT_TRIES; i++) {
		old = read_word(word, fingerprint);
		if (!old)
			return 1;
		held = (__u32)old;
		if (held >= service->source_connections && is_sweeper_alive(k, c))
			return 0;
		if (__sync_val_compare_and_swap(word, old, word_of(fingerprint, held + 1, c->tick + PER_CLIENT_TICKS)) == old) {
			c->per_client = place + 1;
			return 1;
		}
	}
	return 1;
}

/* Notes whose a connection is. `fingerprint` is the flow's hash; records give none. */
INLINE void set_record_owner(void *owners, __u32 place, const struct cursor *c, __u64 fingerprint)
{
	__u32 group = place / WAYS_IN_BUCKET, in = place % WAYS_IN_BUCKET;
	struct owners *four = bpf_map_lookup_elem(owners, &group);

	if (!four)
		return;
	BOUND(in, 3);
	four->per_client[in] = (__u32)(fingerprint >> 40 & 0xfff) << 20 | (c->per_client & PER_CLIENT_INDEX_MASK);
}

#endif
