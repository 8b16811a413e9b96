/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Ways back to clients: each connection remembers one, and the kernel's tables are asked anew once a second. What the
 * client's own packet showed serves until the kernel has an answer. */
#ifndef STEELYARD_LEARN_H
#define STEELYARD_LEARN_H

#include "send.h"

#define LEARNED_NONE 0xfff
#define LEARNED_PROBES 8
/* Ticks after which the kernel is asked again. */
#define LEARNED_TICKS 4

INLINE int same_next_hop(const struct next_hop *a, const struct next_hop *b)
{
	const __u16 *x = (const __u16 *)a, *y = (const __u16 *)b;

	return a->ifindex == b->ifindex && a->mtu == b->mtu && x[0] == y[0] && x[1] == y[1] && x[2] == y[2] && x[3] == y[3] &&
	       x[4] == y[4] && x[5] == y[5];
}

/* The index of a way among those learned, which it joins; `LEARNED_NONE` when there is no room. */
GLOBAL __u32 learn(const struct next_hop *next_hop)
{
	__u32 hash;

	if (!next_hop)
		return LEARNED_NONE;
	hash = ((__u32)next_hop->to[3] << 16 | (__u32)next_hop->to[4] << 8 | next_hop->to[5]) * 0x9e3779b1 + next_hop->ifindex * 0x85ebca6b;
	hash >>= 20;
	for (__u32 i = 0; i < LEARNED_PROBES; i++) {
		__u32 at = (hash + i) & (LEARNED_LIMIT - 1);
		struct next_hop *slot = entry(learned, at);

		if (!slot)
			return LEARNED_NONE;
		if (at == LEARNED_NONE)
			continue;
		if (slot->state == NEXT_HOP_UNKNOWN && __sync_val_compare_and_swap(&slot->state, NEXT_HOP_UNKNOWN, 2) == 0) {
			__builtin_memcpy(slot->to, next_hop->to, 6);
			__builtin_memcpy(slot->from, next_hop->from, 6);
			slot->ifindex = next_hop->ifindex;
			slot->mtu = next_hop->mtu;
			__sync_lock_test_and_set(&slot->state, NEXT_HOP_OK);
			return at;
		}
		if (slot->state == NEXT_HOP_OK && same_next_hop(slot, next_hop))
			return at;
	}
	return LEARNED_NONE;
}

INLINE __u32 client_hop_word(__u32 index, __u32 tick)
{
	return index | tick << 12;
}

/* What the client's packet shows, marked as old, so that the kernel is asked for the first answer. */
GLOBAL __u32 next_hop_from_packet(struct xdp_md *ctx, struct cursor *c)
{
	__u8 *link = bytes_at(ctx, 0, L3_MASK, 14);
	struct next_hop next_hop = { .ifindex = ctx->ingress_ifindex, .state = NEXT_HOP_OK };

	if (!link || !c)
		return LEARNED_NONE;
	__builtin_memcpy(next_hop.to, link + 6, 6);
	__builtin_memcpy(next_hop.from, link, 6);
	return client_hop_word(learn(&next_hop), c->tick - LEARNED_TICKS);
}

/* The way to a client, remembered in `memory`. 0 when none is known. */
INLINE int next_hop_to_client(struct xdp_md *ctx, struct cursor *c, const struct addr *client, __u32 *memory, struct next_hop *next_hop)
{
	__u32 old = *memory, index = old & 0xfff;
	struct next_hop *known;

	if (unlikely(((c->tick - (old >> 12)) & 0xfffff) >= LEARNED_TICKS)) {
		int result = ask_kernel(ctx, c, client, next_hop);

		if (result == 0)
			index = learn(next_hop);
		else if (result == BPF_FIB_LKUP_RET_NO_NEIGH)
			send_event(c, EVENT_CLIENT_NEIGHBOUR, 0, client);
		/* What could not be remembered is asked for again. */
		*memory = client_hop_word(index, index == LEARNED_NONE ? c->tick - LEARNED_TICKS : c->tick);
		if (result == 0)
			return 1;
	}
	known = index == LEARNED_NONE ? NULL : entry(learned, index);
	if (!known)
		return 0;
	*next_hop = *known;
	return 1;
}

#endif
