/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Hands a packet that does not fit a tunnel's way to the process, which sends it on as fragments: XDP makes of one packet
 * no two. Only packets whose senders allow fragments, only while somebody makes them, and only so many in a tick. */
#ifndef STEELYARD_OVERSIZED_H
#define STEELYARD_OVERSIZED_H

#include "partial.h"

/* Most packets are no longer than this, and take no more of the ring. */
#define USUAL_BYTES 2048

struct usual_oversized {
	struct oversized head;
	__u8 packet[USUAL_BYTES];
};

struct large_oversized {
	struct oversized head;
	__u8 packet[OVERSIZED_BYTES];
};

/* Whether the process takes one packet more. */
INLINE int is_fragmenter_alive(const struct cursor *c)
{
	__u32 *alive = entry(fragmenter, 0);
	struct event_tick *taken = entry(handed, 0);

	/* Its clock may be a tick ahead of this coarse one. */
	if (!alive || !taken || !*alive || (__s32)(c->tick - *alive) > FRAGMENTER_TICKS)
		return 0;
	if (taken->tick != c->tick) {
		taken->tick = c->tick;
		taken->told = 0;
	}
	return __sync_fetch_and_add(&taken->told, 1) < FRAGMENTED_LIMIT;
}

INLINE void describe_oversized(struct oversized *head, const struct cursor *c, const struct server *server, __u32 room,
			       __u32 entropy)
{
	copy16((struct addr *)head->outer, server->outer);
	copy16((struct addr *)head->server, server->addr);
	head->room = room;
	head->length = c->length;
	head->entropy = entropy & 0xfffff;
	head->wrap_port = server->wrap_port;
	head->wrap = server->wrap;
	head->tos = c->tos;
}

/* Copies the packet into a new entry of the ring; ends the function where it cannot. */
#define HAND_OVER(kind, limit)                                                       \
	do {                                                                         \
		struct kind *out_ = bpf_ringbuf_reserve(&oversized, sizeof(*out_), 0); \
		__u64 length_ = c->length;                                           \
		if (!out_)                                                           \
			return 0;                                                    \
		BOUND(length_, 0x3fff);                                              \
		if (length_ == 0 || length_ > (limit) ||                             \
		    bpf_xdp_load_bytes(ctx, c->l3, out_->packet, length_)) {         \
			bpf_ringbuf_discard(out_, 0);                                \
			return 0;                                                    \
		}                                                                    \
		describe_oversized(&out_->head, c, server, room, entropy);           \
		bpf_ringbuf_submit(out_, 0);                                         \
	} while (0)

/* Hands it over; 0 where nobody takes it, and it is as it was. */
GLOBAL int pass_to_userspace(struct xdp_md *ctx, struct cursor *c, const struct server *server, __u32 room, __u32 entropy)
{
	struct server_count *row;

	if (!c || !server || c->marks & DONT_FRAGMENT || c->length > OVERSIZED_BYTES)
		return 0;
	/* Fragments of what a device is still to sum would be summed wrongly. */
	if (is_partial(ctx, c) || !is_fragmenter_alive(c))
		return 0;
	if (c->length <= USUAL_BYTES)
		HAND_OVER(usual_oversized, USUAL_BYTES);
	else
		HAND_OVER(large_oversized, OVERSIZED_BYTES);
	row = entry(server_counts, c->server);
	if (row)
		row->bytes_in += c->length;
	return 1;
}

#endif
