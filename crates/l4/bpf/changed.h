/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Notes for user space which entries of the tables have changed, a bit for each: what another machine is to be told. It
 * is written where a connection begins or goes on to its next state, not with every packet; what is not read in time
 * stays noted, so nothing waits and nothing is lost. What is told, and to whom, is user space's business. */
#ifndef STEELYARD_CHANGED_H
#define STEELYARD_CHANGED_H

#include "flow.h"

INLINE void note(void *map, __u32 place)
{
	__u32 at = place / 64;
	__u64 *bits = bpf_map_lookup_elem(map, &at);

	if (bits)
		__sync_fetch_and_or(bits, 1ULL << (place & 63));
}

/* The number of the entry with this hash, or `NONE`. */
INLINE __u32 place_of(void *map, __u32 mask, __u64 fingerprint)
{
#pragma unroll
	for (int second = 0; second < 2; second++) {
		__u32 at = bucket_at(fingerprint, mask, second);
		struct bucket *bucket = bpf_map_lookup_elem(map, &at);

		if (!bucket)
			return NONE;
#pragma unroll
		for (int i = 0; i < WAYS_IN_BUCKET; i++) {
			if (*(volatile __u64 *)&bucket->fingerprint[i] == fingerprint)
				return at * WAYS_IN_BUCKET + i;
		}
	}
	return NONE;
}

GLOBAL int note_flow(const struct config *k, __u64 fingerprint)
{
	__u32 place = k ? place_of(&flows, k->flow_mask, fingerprint) : NONE;

	if (place != NONE)
		note(&flows_changed, place);
	return 0;
}

GLOBAL int note_sticky(const struct config *k, __u64 fingerprint)
{
	__u32 place = k ? place_of(&sticky, k->sticky_mask, fingerprint) : NONE;

	if (place != NONE)
		note(&sticky_changed, place);
	return 0;
}

#endif
