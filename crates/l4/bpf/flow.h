/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The tables of flows: buckets of four entries, one cache line each, two buckets for a key. An entry is a 64-bit
 * keyed hash of the whole key and a word. Entries are claimed and changed by compare-and-swap, so one table serves
 * all CPUs. What the low half of the word means is the caller's business. */
#ifndef STEELYARD_FLOW_H
#define STEELYARD_FLOW_H

#include "cursor.h"

/* A claimed entry that is not filled in yet; hashes are never 0 or 1. */
#define CLAIM 1

INLINE __u64 mix(__u64 hash, __u64 word, __u64 key)
{
	hash = (hash ^ word) * (key | 1);
	return hash ^ hash >> 32;
}

/* The hash of a connection as its client sees it. `proto` separates families of keys. */
INLINE __u64 flow_fingerprint(const struct config *k, const struct addr *src, const struct addr *dst, __be16 sport,
		      __be16 dport, __u32 proto)
{
	__u64 hash = k->secret[0];

	if (src->w[2] == MAPPED) {
		hash = mix(hash, (__u64)src->w[3] << 32 | dst->w[3], k->secret[1]);
	} else {
		hash = mix(hash, (__u64)src->w[0] << 32 | src->w[1], k->secret[1]);
		hash = mix(hash, (__u64)src->w[2] << 32 | src->w[3], k->secret[2]);
		hash = mix(hash, (__u64)dst->w[0] << 32 | dst->w[1], k->secret[3]);
		hash = mix(hash, (__u64)dst->w[2] << 32 | dst->w[3], k->secret[1]);
	}
	hash = mix(hash, (__u64)proto << 32 | (__u32)sport << 16 | dport, k->secret[2]);
	hash = mix(hash, 0, k->secret[3]);
	return hash | 2;
}

INLINE __u64 word_of(__u64 fingerprint, __u32 low, __u32 deadline)
{
	return (__u64)deadline << 40 | (fingerprint >> 24 & 0xff) << 32 | low;
}

/* Deadlines have 24 bits in a word: 52 days, of which half lie ahead. */
INLINE __s32 remaining_ticks(__u64 word, __u32 tick)
{
	return (__s32)(((__u32)(word >> 40) << 8) - (tick << 8)) >> 8;
}

INLINE __u32 bucket_at(__u64 fingerprint, __u32 mask, int second)
{
	return (second ? fingerprint >> 34 ^ fingerprint >> 2 : fingerprint >> 2) & mask;
}

/* The word of the entry with this hash, or NULL. */
INLINE __u64 *find(void *map, __u32 mask, __u64 fingerprint)
{
#pragma unroll
	for (int second = 0; second < 2; second++) {
		__u32 at = bucket_at(fingerprint, mask, second);
		struct bucket *bucket = bpf_map_lookup_elem(map, &at);

		if (!bucket)
			return NULL;
#pragma unroll
		for (int i = 0; i < WAYS_IN_BUCKET; i++) {
			if (*(volatile __u64 *)&bucket->fingerprint[i] == fingerprint)
				return &bucket->word[i];
		}
	}
	return NULL;
}

/* The word as one read; 0 when the entry is by now another's. */
INLINE __u64 read_word(__u64 *word, __u64 fingerprint)
{
	__u64 value = *(volatile __u64 *)word;

	if ((value >> 32 & 0xff) != (fingerprint >> 24 & 0xff))
		return 0;
	return *(volatile __u64 *)(word - WAYS_IN_BUCKET) == fingerprint ? value : 0;
}

/* Fills an entry whose hash was `old`; 0 when another CPU was faster. */
INLINE int claim(__u64 *slot, __u64 old, __u64 fingerprint, __u64 word)
{
	if (__sync_val_compare_and_swap(slot, old, CLAIM) != old)
		return 0;
	*(volatile __u64 *)(slot + WAYS_IN_BUCKET) = word;
	__sync_lock_test_and_set(slot, fingerprint);
	return 1;
}

#define INSERTED 1
#define EVICTED 2
#define FULL 0

/* Whether the key's second bucket has fewer entries than its first. Filling the emptier one first keeps both from
 * being full long before the table is (Azar et al., "Balanced Allocations", 1994). */
INLINE int second_is_emptier(void *map, __u32 mask, __u64 fingerprint)
{
	__u32 a = bucket_at(fingerprint, mask, 0), b = bucket_at(fingerprint, mask, 1);
	struct bucket *first = bpf_map_lookup_elem(map, &a), *second = bpf_map_lookup_elem(map, &b);
	int more = 0;

	if (!first || !second)
		return 0;
#pragma unroll
	for (int i = 0; i < WAYS_IN_BUCKET; i++)
		more += !!first->fingerprint[i] - !!second->fingerprint[i];
	return more > 0;
}

/* Enters a key that is not there: into a free or expired entry; else, with `evict`, into the one that ends first.
 * Where nothing gives way the emptier bucket is filled first. `place`, if wanted, becomes the entry's number. */
INLINE int insert(void *map, __u32 mask, __u64 fingerprint, __u64 word, __u32 tick, int evict, __u32 *place)
{
	__u64 *oldest = NULL, oldest_fingerprint = 0;
	__u32 oldest_place = 0;
	int turned = !evict && second_is_emptier(map, mask, fingerprint);
	__s32 least = 0x7fffffff;

#pragma unroll
	for (int second = 0; second < 2; second++) {
		__u32 at = bucket_at(fingerprint, mask, second != turned);
		struct bucket *bucket = bpf_map_lookup_elem(map, &at);

		if (!bucket)
			return FULL;
#pragma unroll
		for (int i = 0; i < WAYS_IN_BUCKET; i++) {
			__u64 old = *(volatile __u64 *)&bucket->fingerprint[i];
			__s32 rest = remaining_ticks(*(volatile __u64 *)&bucket->word[i], tick);

			if (old == CLAIM)
				continue;
			if ((old == 0 || (evict && rest <= 0)) && claim(&bucket->fingerprint[i], old, fingerprint, word)) {
				if (place)
					*place = at * WAYS_IN_BUCKET + i;
				return INSERTED;
			}
			if (rest < least) {
				least = rest;
				oldest = &bucket->fingerprint[i];
				oldest_fingerprint = old;
				oldest_place = at * WAYS_IN_BUCKET + i;
			}
		}
	}
	if (!evict || !oldest || !claim(oldest, oldest_fingerprint, fingerprint, word))
		return FULL;
	if (place)
		*place = oldest_place;
	return EVICTED;
}

/* Removes the entry with this hash and low half, if it is there. */
INLINE void forget(void *map, __u32 mask, __u64 fingerprint, __u32 low)
{
	__u64 *word = find(map, mask, fingerprint);

	if (word && (__u32)*word == low)
		__sync_val_compare_and_swap(word - WAYS_IN_BUCKET, fingerprint, 0);
}

#endif
