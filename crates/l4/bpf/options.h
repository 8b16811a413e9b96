/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* TCP options: the time stamp of a packet, and the largest segment that a SYN announces, which may be lowered. */
#ifndef STEELYARD_OPTIONS_H
#define STEELYARD_OPTIONS_H

#include "translate.h"

#define OPTION_END 0
#define OPTION_NOTHING 1
#define OPTION_MSS 2
#define OPTION_SCALE 3
#define OPTION_SACK 4
#define OPTION_STAMP 8

/* A walk along options. */
struct hunt {
	struct xdp_md *ctx;
	__u32 at;
	__u32 end;
	__u32 kind;
	__u32 found;
};

static long hunt_step(__u32 i, void *context)
{
	struct hunt *hunt = context;
	__u8 *option;

	if (hunt->at >= hunt->end)
		return 1;
	option = bytes_at(hunt->ctx, hunt->at, L4_MASK, 2);
	if (!option || option[0] == OPTION_END)
		return 1;
	if (option[0] == OPTION_NOTHING) {
		hunt->at++;
		return 0;
	}
	if (option[0] == hunt->kind) {
		hunt->found = hunt->at;
		return 1;
	}
	if (option[1] < 2)
		return 1;
	hunt->at += option[1];
	return 0;
}

/* Offset of an option with all its bytes, or 0. */
INLINE __u32 option_at(struct xdp_md *ctx, const struct cursor *c, __u32 kind)
{
	struct hunt hunt = { .ctx = ctx, .at = c->l4 + 20, .end = c->l4 + c->tcp_size, .kind = kind };

	if (c->tcp_size > 20)
		bpf_loop(40, hunt_step, &hunt, 0);
	return hunt.found;
}

/* The time stamp value of a packet (RFC 7323), or 0. */
GLOBAL __u32 stamp_of(struct xdp_md *ctx, struct cursor *c)
{
	__u32 at;
	__u8 *option;

	if (!c)
		return 0;
	at = option_at(ctx, c, OPTION_STAMP);
	option = at ? bytes_at(ctx, at, L4_MASK, 10) : NULL;
	if (!option || option[1] != 10)
		return 0;
	return option[2] << 24 | option[3] << 16 | option[4] << 8 | option[5];
}

/* Lowers the largest segment of a SYN to `mss`. */
GLOBAL int clamp(struct xdp_md *ctx, struct cursor *c, __u32 mss)
{
	__u16 old, new = mss;
	struct tcphdr *tcp;
	__u8 *option;
	int partial;
	__u32 at;

	if (!c)
		return 0;
	at = option_at(ctx, c, OPTION_MSS);
	option = at ? bytes_at(ctx, at, L4_MASK, 4) : NULL;
	if (!option || option[1] != 4)
		return 0;
	old = option[2] << 8 | option[3];
	if (old <= new)
		return 0;
	partial = is_partial(ctx, c);
	option = bytes_at(ctx, at, L4_MASK, 4);
	if (!option)
		return 0;
	option[2] = new >> 8;
	option[3] = new & 0xff;
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return 0;
	/* A device sums it later. */
	if (partial)
		return 1;
	/* At an odd place the two bytes belong to different words of the sum: their order is the other one. */
	if (at & 1)
		tcp->check = adjusted(tcp->check, swapped16(0, old, new));
	else
		tcp->check = adjusted(tcp->check, swapped16(0, bpf_htons(old), bpf_htons(new)));
	return 1;
}

#endif
