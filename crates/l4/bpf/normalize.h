/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What a service takes of TCP headers: parts that it does not take are taken out, with the checksum brought along, or
 * their packets are dropped. Options are looked at where they are agreed on, in SYN and SYN/ACK: what was not agreed on
 * there is not sent later (RFC 7323 §2.2 and §3.2, RFC 2018 §2), and taking it away later would break connections. */
#ifndef STEELYARD_NORMALIZE_H
#define STEELYARD_NORMALIZE_H

#include "options.h"

/* The longest option that is taken out: timestamps. */
#define OPTION_BYTES 10
/* The action of each option. */
#define OPTIONS_POLICY 0xff
/* The actions of reserved bits and the urgent flag. */
#define FLAGS_POLICY 0xf00

INLINE __u32 action_of(__u32 policy, __u32 field)
{
	return policy >> field * 2 & 3;
}

/* The part of the header that an option is, or `NONE`. */
INLINE __u32 field_of(__u32 kind)
{
	switch (kind) {
	case OPTION_MSS:
		return MSS;
	case OPTION_SCALE:
		return WINDOW_SCALE;
	case OPTION_SACK:
		return SACK;
	case OPTION_STAMP:
		return TIMESTAMPS;
	default:
		return NONE;
	}
}

/* Bytes of an option, kind and length among them. */
INLINE __u32 option_size(__u32 field)
{
	return field == MSS ? 4 : field == WINDOW_SCALE ? 3 : field == SACK ? 2 : OPTION_BYTES;
}

/* A walk along the options of a SYN. */
struct sieve {
	struct xdp_md *ctx;
	/* What the sum of the segment changes by. */
	__u64 change;
	__u32 at;
	__u32 end;
	__u32 policy;
	/* Parts that were taken out, a bit for each. */
	__u32 cleared;
	/* The outcome of a packet that is dropped; 0 for none. */
	__u32 outcome;
	__u32 pad;
};

/* Writes no-operations over an option. */
INLINE void overwrite_option(struct sieve *s, __u32 size)
{
	for (__u32 i = 0; i < OPTION_BYTES && i < size; i++) {
		__u32 at = s->at + i;
		__u8 *byte = bytes_at(s->ctx, at, L4_MASK, 1), old;

		if (!byte)
			return;
		old = *byte;
		*byte = OPTION_NOTHING;
		/* At an odd place it is the low byte of its word. */
		if (at & 1)
			s->change = swapped16(s->change, bpf_htons(old), bpf_htons(OPTION_NOTHING));
		else
			s->change = swapped16(s->change, bpf_htons(old << 8), bpf_htons(OPTION_NOTHING << 8));
	}
}

static long sieve_step(__u32 i, void *context)
{
	struct sieve *s = context;
	__u32 field, action, size;
	__u8 *option;

	if (s->at >= s->end)
		return 1;
	option = bytes_at(s->ctx, s->at, L4_MASK, 1);
	if (option && option[0] == OPTION_END)
		return 1;
	if (option && option[0] == OPTION_NOTHING) {
		s->at++;
		return 0;
	}
	option = bytes_at(s->ctx, s->at, L4_MASK, 2);
	size = option ? option[1] : 0;
	field = option ? field_of(option[0]) : NONE;
	if (size < 2 || s->at + size > s->end || (field != NONE && size != option_size(field))) {
		s->outcome = OPTION_MALFORMED;
		return 1;
	}
	action = field == NONE ? TCP_ALLOW : action_of(s->policy, field);
	if (action == TCP_DROP) {
		s->outcome = OPTION_REFUSED;
		return 1;
	}
	if (action == TCP_CLEAR) {
		overwrite_option(s, size);
		s->cleared |= 1 << field;
	}
	s->at += size;
	return 0;
}

/* Bytes of data in a segment. */
INLINE __u32 data_bytes(const struct cursor *c)
{
	return c->length - (c->l4 - c->l3) - c->tcp_size;
}

/* The word of the header with length, reserved bits and flags, and where the urgent pointer is. */
#define FLAGS_AT 12
#define URGENT_AT 18
#define RESERVED_FLAGS bpf_htons(0x0e00)
#define URGENT_FLAG bpf_htons(0x0020)

/* Reserved bits and the urgent flag of a segment. */
INLINE int sift_flags(struct xdp_md *ctx, struct cursor *c, __u32 policy)
{
	__u32 reserved = action_of(policy, RESERVED_BITS), urgent = action_of(policy, URGENT);
	__be16 *word = bytes_at(ctx, c->l4 + FLAGS_AT, L4_MASK, 2), *pointer, old, gone = 0;
	struct tcphdr *tcp;
	__u64 change;
	int partial;

	if (!word)
		return drop(c, TOO_SHORT);
	old = *word;
	if (reserved && old & RESERVED_FLAGS) {
		if (reserved == TCP_DROP)
			return drop(c, RESERVED_BITS_REFUSED);
		gone |= RESERVED_FLAGS;
	}
	if (urgent && old & URGENT_FLAG) {
		if (urgent == TCP_DROP)
			return drop(c, URGENT_REFUSED);
		gone |= URGENT_FLAG;
	}
	if (likely(!gone))
		return GO_ON;
	partial = is_partial(ctx, c);
	word = bytes_at(ctx, c->l4 + FLAGS_AT, L4_MASK, 2);
	pointer = bytes_at(ctx, c->l4 + URGENT_AT, L4_MASK, 2);
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!word || !pointer || !tcp)
		return drop(c, TOO_SHORT);
	*word = old & ~gone;
	change = swapped16(0, old, old & ~gone);
	if (gone & RESERVED_FLAGS)
		count_cleared(c, RESERVED_BITS);
	if (gone & URGENT_FLAG) {
		count_cleared(c, URGENT);
		change = swapped16(change, *pointer, 0);
		*pointer = 0;
	}
	/* A device sums it later. */
	if (!partial)
		tcp->check = adjusted(tcp->check, change);
	return GO_ON;
}

/* Options of a SYN or SYN/ACK. */
INLINE int sift_options(struct xdp_md *ctx, struct cursor *c, __u32 policy)
{
	struct sieve s = { .ctx = ctx, .at = c->l4 + 20, .end = c->l4 + c->tcp_size, .policy = policy };
	int partial = is_partial(ctx, c);
	struct tcphdr *tcp;

	bpf_loop(40, sieve_step, &s, 0);
	if (s.outcome)
		return drop(c, s.outcome);
	if (!s.cleared)
		return GO_ON;
	for (__u32 field = MSS; field <= TIMESTAMPS; field++) {
		if (s.cleared >> field & 1)
			count_cleared(c, field);
	}
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return drop(c, TOO_SHORT);
	/* A device sums it later. */
	if (!partial)
		tcp->check = adjusted(tcp->check, s.change);
	return GO_ON;
}

/* A TCP packet of a service that does not take all. Ends the walk, or goes on. */
GLOBAL int normalize(struct xdp_md *ctx, struct cursor *c, __u32 policy)
{
	int done;

	if (!c)
		return XDP_DROP;
	if (policy & FLAGS_POLICY) {
		done = sift_flags(ctx, c, policy);
		if (done != GO_ON)
			return done;
	}
	if (likely(!(c->tcp & SYN)))
		return GO_ON;
	if (action_of(policy, SYN_DATA) == TCP_DROP && data_bytes(c))
		return drop(c, SYN_DATA_REFUSED);
	if (policy & OPTIONS_POLICY && c->tcp_size > 20)
		return sift_options(ctx, c, policy);
	return GO_ON;
}

#endif
