/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Insight: of one connection in so many it is written down when its handshake's packets came, what was sent again and
 * from which side of us it was missing, how long windows stood closed, and who sent resets. It changes no packet and
 * ends no walk. What the figures mean to people is judged in user space. Connections that began with a SYN cookie, whose
 * numbers differ on both sides, and fragments are not looked at. */
#ifndef STEELYARD_FLOW_SAMPLES_H
#define STEELYARD_FLOW_SAMPLES_H

#include "nat.h"

#define WATCH_CLAIM 1
/* The largest shift (RFC 7323 §2.3). */
#define MOST_SHIFT 14

/* One packet as its watcher sees it. */
struct packet_sample {
	__u64 now;
	/* The connection's hash. */
	__u64 fingerprint;
	__u32 seq;
	/* Numbers that it takes: data, SYN and FIN. */
	__u32 takes;
	__u32 window;
	__u32 flags;
	__u32 side;
	__u32 mss;
	__u32 shift;
};

/* A SYN's segment size and scale. */
INLINE void read_sample_options(struct xdp_md *ctx, const struct cursor *c, struct packet_sample *g)
{
	__u32 at = option_at(ctx, c, OPTION_MSS);
	__u8 *option = at ? bytes_at(ctx, at, L4_MASK, 4) : NULL;

	g->mss = option && option[1] == 4 ? option[2] << 8 | option[3] : c->family == 4 ? LEAST_MSS4 : LEAST_MSS6;
	at = option_at(ctx, c, OPTION_SCALE);
	option = at ? bytes_at(ctx, at, L4_MASK, 3) : NULL;
	g->shift = !option || option[1] != 3 ? SHIFT_NONE : option[2] > MOST_SHIFT ? MOST_SHIFT : option[2];
}

/* Fills the glance; 0 when the packet is not looked at. */
INLINE int read_packet_sample(struct xdp_md *ctx, const struct cursor *c, const struct config *k, struct packet_sample *g)
{
	struct tcphdr *tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	struct record *record = c->record == NONE ? NULL : entry(records, c->record);

	if (!tcp || c->marks & (FIRST_FRAGMENT | WITH_COOKIE))
		return 0;
	if (record && by_cookie(*(volatile __u64 *)&record->word))
		return 0;
	g->now = k->clock_ns ? k->clock_ns : bpf_ktime_get_ns();
	g->seq = c->seq;
	g->flags = c->tcp & (FIN | SYN | RST | ACK);
	g->takes = c->length - (c->l4 - c->l3) - c->tcp_size + !!(c->tcp & SYN) + !!(c->tcp & FIN);
	g->window = bpf_ntohs(tcp->window);
	if (g->side == CLIENT_SIDE)
		g->fingerprint = flow_fingerprint(k, &c->src, &c->dst, c->sport, c->dport, IPPROTO_TCP);
	else if (record)
		g->fingerprint = flow_fingerprint(k, (struct addr *)record->client, (struct addr *)record->addr, record->client_port,
				    record->port, IPPROTO_TCP);
	else
		return 0;
	if (c->tcp & SYN)
		read_sample_options(ctx, c, g);
	return 1;
}

/* Whether user space has read what was written last. */
INLINE int has_been_read(const struct config *k, const struct watch *w)
{
	return (__s32)(k->swept - w->tick) > 0;
}

/* Whether an entry may be another connection's; `WATCH_ENDED` is one that ended, 1 one that did not. */
INLINE __u32 is_replaceable(const struct config *k, const struct cursor *c, const struct watch *w)
{
	__u32 idle = c->tick - w->tick;

	if (!has_been_read(k, w))
		return 0;
	if (w->flags & WATCH_ENDED && idle > WATCHED_ENDING)
		return WATCH_ENDED;
	return idle > WATCHED_IDLE;
}

/* Makes a claimed entry this connection's. */
INLINE void start_watch(const struct cursor *c, struct watch *w, const struct packet_sample *g)
{
	__u64 *words = (__u64 *)w;

#pragma unroll
	for (int i = 1; i < (int)(sizeof(*w) / 8); i++)
		words[i] = 0;
	w->born = g->now;
	copy16((struct addr *)w->client, &c->src);
	w->client_port = c->sport;
	w->port = c->dport;
	w->service = c->service;
	w->server = c->server;
	w->tick = c->tick;
	w->isn = g->seq;
	w->flags = (opens(c) ? 0 : WATCH_LATE) | (c->record == NONE ? 0 : WATCH_BOTH);
	w->shift[CLIENT_SIDE] = w->shift[SERVER_SIDE] = SHIFT_UNKNOWN;
	__sync_lock_test_and_set(&w->fingerprint, g->fingerprint);
}

/* The entry of a connection, which gets one if it is its client's packet; NULL: it has none. */
INLINE struct watch *find_or_start_watch(struct cursor *c, const struct config *k, const struct packet_sample *g)
{
	struct watch_count *count = entry(watch_counts, 0);
	__u32 set = g->fingerprint >> 8 & (WATCHED_LIMIT / 4 - 1);
	struct watch *w, *place = NULL;
	__u64 old = 0;

	if (!count)
		return NULL;
	for (int i = 0; i < 4; i++) {
		w = entry(watched, set * 4 + i);
		if (!w)
			return NULL;
		if (w->fingerprint == g->fingerprint)
			goto found;
		if (!place && w->fingerprint != WATCH_CLAIM && (!w->fingerprint || is_replaceable(k, c, w))) {
			place = w;
			old = w->fingerprint;
		}
	}
	if (g->side != CLIENT_SIDE || g->flags & RST)
		return NULL;
	if (!place || __sync_val_compare_and_swap(&place->fingerprint, old, WATCH_CLAIM) != old) {
		count->full++;
		return NULL;
	}
	count->begun++;
	count->evicted += old && !(place->flags & WATCH_ENDED);
	start_watch(c, place, g);
	return place;
found:
	/* The same ends again, with other numbers: another connection. */
	if (g->side != CLIENT_SIDE || !opens(c) || (w->isn == g->seq && !(w->flags & (WATCH_ENDED | WATCH_LATE))))
		return w;
	if (__sync_val_compare_and_swap(&w->fingerprint, g->fingerprint, WATCH_CLAIM) != g->fingerprint)
		return NULL;
	count->begun++;
	count->unread += !has_been_read(k, w);
	start_watch(c, w, g);
	return w;
}

/* Times of the handshake. */
INLINE void watch_handshake(struct watch *w, const struct packet_sample *g)
{
	__u32 side = g->side & 1;

	if (g->flags & SYN) {
		__u64 *at = side == CLIENT_SIDE ? w->syn : w->syn_ack;

		w->syns[side]++;
		w->mss[side] = g->mss;
		w->shift[side] = g->shift;
		if (!at[0])
			at[0] = g->now;
		at[1] = g->now;
	} else if (side == CLIENT_SIDE && !w->ack && !(g->flags & RST) &&
		   (w->flags & WATCH_BOTH ? w->syn_ack[0] : w->syn[0])) {
		w->ack = g->now;
	}
}

/* How long a gap may last that another order leaves: shorter than a round trip takes, for who sends again must have
 * been told. */
INLINE __u64 order_ns(const struct watch *w)
{
	__u64 trip = w->ack - w->syn[1];

	return w->ack && w->syns[CLIENT_SIDE] == 1 && w->syns[SERVER_SIDE] < 2 ? trip - (trip >> 3) : REORDERED_NS;
}

/* What was sent before, or was missing. */
INLINE void watch_repair(struct watch *w, const struct packet_sample *g, __u32 side)
{
	__u32 from = w->gap_from[side], to = w->gap_to[side], end = g->seq + g->takes;

	if (from != to && (__s32)(g->seq - from) >= 0 && (__s32)(g->seq - to) < 0) {
		if (g->seq == from)
			w->gap_from[side] = (__s32)(end - to) < 0 ? end : to;
		else if ((__s32)(end - to) >= 0)
			w->gap_to[side] = g->seq;
		if (g->now - w->gap_at[side] < order_ns(w)) {
			w->reordered[side]++;
			return;
		}
		w->filled[side]++;
	} else {
		w->again[side]++;
	}
	/* A sender whose peer's window is closed is silent for that. */
	if (w->low[side ^ 1] != WINDOW_ZERO)
		w->loss_ns[side] += g->now - w->sent[side];
}

/* The numbers that a packet takes. */
INLINE void watch_numbers(struct watch *w, const struct packet_sample *g, __u32 side)
{
	__s32 ahead = g->seq - w->next[side];

	if (!w->packets[side]) {
		w->next[side] = g->seq + g->takes;
		w->sent[side] = g->now;
		return;
	}
	if (!g->takes || g->flags & RST)
		return;
	/* A byte that asks whether anybody is there, or whether the window is open. */
	if (g->takes == 1 && !(g->flags & (SYN | FIN)) &&
	    (ahead == -1 || (!ahead && w->low[side ^ 1] == WINDOW_ZERO)))
		return;
	if (ahead < 0) {
		watch_repair(w, g, side);
	} else if (ahead > 0) {
		if (w->gap_from[side] == w->gap_to[side]) {
			w->gap_from[side] = w->next[side];
			w->gap_at[side] = g->now;
		}
		w->gap_to[side] = g->seq;
	}
	if ((__s32)(g->seq + g->takes - w->next[side]) > 0)
		w->next[side] = g->seq + g->takes;
	w->sent[side] = g->now;
}

/* The shift of a side's windows. Where the other side's answer is not seen it is the side's own offer: if that was not
 * taken windows are smaller still. `SHIFT_UNKNOWN` without its SYN. */
INLINE __u32 active_window_scale(const struct watch *w, __u32 side)
{
	__u32 own = w->shift[side], other = w->flags & WATCH_BOTH ? w->shift[side ^ 1] : own;

	if (own == SHIFT_NONE || other == SHIFT_NONE)
		return 0;
	return other == SHIFT_UNKNOWN ? SHIFT_UNKNOWN : own;
}

/* Ends the time of a low window. */
INLINE void watch_raised(struct watch *w, __u64 now, __u32 side)
{
	if (w->low[side] == WINDOW_ZERO)
		w->zero_ns[side] += now - w->low_at[side];
	else if (w->low[side] == WINDOW_SILLY)
		w->silly_ns[side] += now - w->low_at[side];
	w->low_at[side] = now;
}

/* The window that a packet says. */
INLINE void watch_window(struct watch *w, const struct packet_sample *g, __u32 side)
{
	__u32 shift = active_window_scale(w, side), low = WINDOW_OPEN;

	if ((g->flags & (ACK | SYN | FIN | RST)) != ACK)
		return;
	if (!g->window) {
		low = WINDOW_ZERO;
		w->zero[side]++;
	} else if (shift <= MOST_SHIFT && g->window << shift < w->mss[side]) {
		low = WINDOW_SILLY;
		w->silly[side]++;
	}
	watch_raised(w, g->now, side);
	w->low[side] = low;
}

/* How the connection ends. */
INLINE void watch_end(struct watch *w, const struct packet_sample *g, __u32 side)
{
	__u32 more = side == CLIENT_SIDE ? WATCH_CLIENT_FIN : WATCH_SERVER_FIN;

	if (g->flags & RST) {
		w->resets[side]++;
		more = WATCH_ENDED;
		if (side == SERVER_SIDE && w->syn[0] && !w->syn_ack[0])
			more |= WATCH_REFUSED;
		watch_raised(w, g->now, CLIENT_SIDE);
		watch_raised(w, g->now, SERVER_SIDE);
		w->low[CLIENT_SIDE] = w->low[SERVER_SIDE] = WINDOW_OPEN;
	} else if (!(g->flags & FIN)) {
		return;
	} else if (!(w->flags & WATCH_BOTH) ||
		   w->flags & (side == CLIENT_SIDE ? WATCH_SERVER_FIN : WATCH_CLIENT_FIN)) {
		more |= WATCH_ENDED;
	}
	__sync_fetch_and_or(&w->flags, more);
}

/* Writes down what a packet of a watched connection shows. */
GLOBAL int watch_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k, __u32 side)
{
	struct packet_sample g = { .side = side & 1 };
	struct watch *w;

	if (!c || !k || !read_packet_sample(ctx, c, k, &g))
		return 0;
	w = find_or_start_watch(c, k, &g);
	if (!w)
		return 0;
	side &= 1;
	w->tick = c->tick;
	/* A connection whose server left may have chosen another. */
	w->server = c->server;
	watch_handshake(w, &g);
	watch_numbers(w, &g, side);
	watch_window(w, &g, side);
	watch_end(w, &g, side);
	w->packets[side]++;
	return 1;
}

/* Looks at a packet whose connection is known, if the connection is watched. With a record the lot is its number's, which
 * both directions know. */
INLINE void sample_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k, __u32 side)
{
	__u32 sample_draw = c->record == NONE ? c->sample_draw : ((__u32)(c->record * 0x9e3779b1u) >> 1) + 1;

	if (unlikely(sample_draw - 1 < k->insight) && is_tcp(c))
		watch_packet(ctx, c, k, side);
}

#endif
