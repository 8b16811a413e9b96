/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* SYN cookies of `nat`. While too many connections are half-open a SYN is answered without a record: our number is a
 * keyed hash of the connection, and the window is zero, so that the client holds its data back. The ACK that brings the
 * number back becomes the SYN to a server; the server's answer becomes the ACK that opens the client's window. From
 * then on the server's numbers are shifted. Only the largest segment is agreed on: no scaling, no stamps, no SACK. */
#ifndef STEELYARD_COOKIE_H
#define STEELYARD_COOKIE_H

#include "direct.h"
#include "options.h"
#include "ports.h"
#include "reply.h"

/* A cookie's time is the epoch in which it was made (69 s) and the next one. */
#define EPOCH_SHIFT 8
#define COOKIE_TICKS (2 << EPOCH_SHIFT)
/* Low bits of a cookie: which of the segment sizes below. */
#define MSS_BITS 7
/* What we offer a server in a client's place until it says itself: no host takes less (RFC 9293 §3.7.1). */
#define LEAST_WINDOW 536
#define LEAST_MSS4 536
#define LEAST_MSS6 1220

/* Segment sizes that a cookie can say, ascending: 536, 1220, 1300, 1360; 1400, 1440, 1460, 8960. */
INLINE __u32 mss_at(__u32 index)
{
	const __u64 low = 536ULL | 1220ULL << 16 | 1300ULL << 32 | 1360ULL << 48;
	const __u64 high = 1400ULL | 1440ULL << 16 | 1460ULL << 32 | 8960ULL << 48;

	return (index & 4 ? high : low) >> (index & 3) * 16 & 0xffff;
}

/* The largest of them that a client can take. */
INLINE __u32 mss_index(__u32 mss)
{
	__u32 best = 0;

#pragma unroll
	for (__u32 i = 1; i <= MSS_BITS; i++)
		best += mss >= mss_at(i);
	return best;
}

/* The cookie for a client's SYN with the number `isn`. `what`: the epoch, with the segment size in its low bits. */
GLOBAL __u32 cookie_of(const struct config *k, const struct cursor *c, __u32 isn, __u32 what)
{
	struct sip s = { { 0 } };

	if (!k || !c)
		return 0;
	/* Apart from the hash of the flow tables, which shows in ports of GUE. */
	sip_keyed(&s, ~k->secret[2], ~k->secret[3]);
	sip_word(&s, (__u64)c->src.w[0] << 32 | c->src.w[1]);
	sip_word(&s, (__u64)c->src.w[2] << 32 | c->src.w[3]);
	sip_word(&s, (__u64)c->dst.w[0] << 32 | c->dst.w[1]);
	sip_word(&s, (__u64)c->dst.w[2] << 32 | c->dst.w[3]);
	sip_word(&s, (__u64)isn << 32 | (__u32)c->sport << 16 | c->dport);
	sip_word(&s, 44ULL << 56 | what);
	return ((__u32)sip_sum(&s) & ~MSS_BITS) | (what & MSS_BITS);
}

INLINE __u32 epoch(const struct cursor *c)
{
	return c->tick >> EPOCH_SHIFT << 3;
}

/* What a client says of its segments, or the least that its family takes (RFC 9293 §3.7.1). */
INLINE __u32 announced_mss(struct xdp_md *ctx, const struct cursor *c)
{
	__u32 at = option_at(ctx, c, OPTION_MSS);
	__u8 *option = at ? bytes_at(ctx, at, L4_MASK, 4) : NULL;

	if (!option || option[1] != 4)
		return c->family == 4 ? LEAST_MSS4 : LEAST_MSS6;
	return option[2] << 8 | option[3];
}

/* The largest segment that we offer in a server's place: what the link takes, or what the service says. */
INLINE __u32 offered(struct xdp_md *ctx, const struct cursor *c, const struct service *service)
{
	__u32 index = ctx->ingress_ifindex, head = c->family == 4 ? 40 : 60;
	__u32 mss = c->family == 4 ? LEAST_MSS4 : LEAST_MSS6;
	struct interface *in = bpf_map_lookup_elem(&interfaces, &index);

	if (in && in->mtu > mss + head && in->mtu < 0xffff)
		mss = in->mtu - head;
	return service->mss && service->mss < mss ? service->mss : mss;
}

/* Whether SYNs are answered with cookies now. */
INLINE int should_send_cookies(const struct config *k, const struct cursor *c, const struct service *service)
{
	struct gauge *gauge = entry(gauges, c->service);

	return gauge && is_sweeper_alive(k, c) && (__s32)(gauge->half_open + gauge->new_half_open) >= (__s32)service->half_open_limit;
}

/* Whether cookies that were given may come back. */
INLINE int may_receive_cookies(const struct cursor *c)
{
	struct gauge *gauge = entry(gauges, c->service);

	return gauge && gauge->cookie_tick && c->tick - gauge->cookie_tick < COOKIE_TICKS;
}

/* Whether a packet may be one that opens a connection by a cookie, from either side of it. */
INLINE int needs_cookie_path(const struct config *k, const struct cursor *c, const struct service *service)
{
	if (c->marks & FIRST_FRAGMENT || c->tcp & (RST | FIN))
		return 0;
	if (c->tcp & SYN)
		return opens(c) && should_send_cookies(k, c, service);
	return c->tcp & ACK && may_receive_cookies(c);
}

/* Ends the walk of a SYN: its client gets a cookie. */
GLOBAL int send_syn_cookie(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct service *service)
{
	struct segment s = { .flags = SYN | ACK };
	struct gauge *gauge;
	int done;

	if (!c || !k || !service)
		return XDP_DROP;
	done = admit(k, c, service);
	if (done != GO_ON)
		return done;
	gauge = entry(gauges, c->service);
	if (gauge && gauge->cookie_tick != c->tick)
		gauge->cookie_tick = c->tick;
	s.seq = cookie_of(k, c, c->seq, epoch(c) | mss_index(announced_mss(ctx, c)));
	s.ack = c->seq + 1;
	s.mss = offered(ctx, c, service);
	if (!reply_segment(ctx, c, &s))
		return drop(c, RESIZE_FAILED);
	return return_to_sender(ctx, c, COOKIE_SENT);
}

/* Takes data and options away, and gives the segment other numbers and flags; ends and window stay. `how`: flags, and
 * the largest segment from bit 8 on. */
GLOBAL int rewrite_bare_segment(struct xdp_md *ctx, struct cursor *c, __u32 seq, __u32 ack, __u32 how)
{
	struct segment s = { .seq = seq, .ack = ack, .flags = how, .mss = how >> 8 };
	__u32 size = sizeof(struct tcphdr) + (s.mss ? MSS_OPTION : 0);
	__u32 frame = bpf_xdp_get_buff_len(ctx);
	struct tcphdr *tcp;
	__u64 sum, head;
	int partial;

	if (!c)
		return 0;
	partial = is_partial(ctx, c);
	if (bpf_xdp_adjust_tail(ctx, (int)(c->l4 + size) - (int)frame))
		return 0;
	c->length = c->l4 - c->l3 + size;
	c->tcp = how;
	c->tcp_size = size;
	c->seq = seq;
	if (c->family == 4) {
		struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));
		__be16 old;

		if (!ip)
			return 0;
		old = ip->tot_len;
		ip->tot_len = bpf_htons(c->length);
		ip->check = adjusted(ip->check, swapped16(0, old, ip->tot_len));
	} else {
		struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip));

		if (!ip)
			return 0;
		ip->payload_len = bpf_htons(c->length - sizeof(*ip));
	}
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return 0;
	s.window = bpf_ntohs(tcp->window);
	sum = write_segment(tcp, &s) + c->sport + c->dport;
	if (s.mss) {
		__be32 *option = bytes_at(ctx, c->l4 + sizeof(*tcp), 1023, MSS_OPTION);

		if (!option)
			return 0;
		*option = mss_option(&s);
		sum += *option;
	}
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return 0;
	head = pseudo(&c->src, &c->dst, size, IPPROTO_TCP, c->family);
	tcp->check = partial ? folded(head) : ~folded(sum + head);
	return 1;
}

/* Whether a client's ACK brings a cookie back; then it has become the client's SYN. Clients that ask whether the window
 * is open again use the number before their first one (RFC 9293 §3.8.6.1). */
GLOBAL int accept_syn_cookie(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	__u32 cookie, isn = 0, what;
	struct tcphdr *tcp;
	int good = 0;

	if (!c || !k)
		return 0;
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return 0;
	cookie = bpf_ntohl(tcp->ack_seq) - 1;
	what = epoch(c) | (cookie & MSS_BITS);
	for (__u32 i = 0; i < 4 && !good; i++) {
		isn = c->seq - (i < 2);
		good = cookie_of(k, c, isn, what - (i & 1 ? 1 << 3 : 0)) == cookie;
	}
	if (!good || !rewrite_bare_segment(ctx, c, isn, 0, SYN | mss_at(cookie) << 8))
		return 0;
	c->cookie = cookie;
	c->marks |= WITH_COOKIE;
	return 1;
}

/* The client asks again while its server has not answered: the packet becomes the SYN once more. */
GLOBAL int resend_syn(struct xdp_md *ctx, struct cursor *c, const struct record *record)
{
	if (!c || !record || c->tcp & RST)
		return 0;
	return rewrite_bare_segment(ctx, c, record->end, 0, SYN | mss_at(record->stamp) << 8);
}

/* A server's packet of a connection that began with a cookie. Its first one tells how far apart the numbers are. Ends
 * the walk, or goes on. */
GLOBAL int handle_cookie_reply(struct xdp_md *ctx, struct cursor *c, const struct service *service, struct record *record)
{
	struct segment s = { .flags = ACK, .window = LEAST_WINDOW };
	struct tcphdr *tcp;
	__u64 old;

	if (!c || !service || !record)
		return XDP_DROP;
	old = *(volatile __u64 *)&record->word;
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return drop(c, TOO_SHORT);
	s.seq = bpf_ntohl(tcp->ack_seq);
	s.ack = c->seq + 1;
	if ((old & 0xff) != EMBRYONIC) {
		if ((c->tcp & (SYN | ACK | RST)) != (SYN | ACK))
			return GO_ON;
		/* The client has nothing to say yet, so nobody has told the server that it was heard. */
		if (!reply_segment(ctx, c, &s))
			return drop(c, RESIZE_FAILED);
		return return_to_sender(ctx, c, COOKIE_ANSWERED);
	}
	/* Not an answer to our SYN: the server still has an older connection of the port (RFC 9293 §3.10.7.3). */
	if (!(c->tcp & ACK) || s.seq != record->end + 1 || !(c->tcp & (SYN | RST)))
		return reset(ctx, c);
	if (__sync_val_compare_and_swap(&record->word, old,
					record_word(c->tick + time_of(service, ESTABLISHED), (__u32)old >> 8,
						    ESTABLISHED)) != old)
		return drop(c, ANSWER_WITHOUT_FLOW);
	record->stamp += (c->tcp & RST ? 1 : 0) - c->seq;
	if (service->flags & SERVICE_TELLS_FLOWS)
		note(&records_changed, c->record);
	count_half_open(c, -1);
	if (!(c->tcp & RST) && !rewrite_bare_segment(ctx, c, c->seq + 1, s.seq, ACK))
		return drop(c, RESIZE_FAILED);
	return GO_ON;
}

/* Adds to the number at `at` of the TCP header; the checksum follows. */
GLOBAL int shift(struct xdp_md *ctx, struct cursor *c, __u32 at, __u32 by)
{
	__be32 *number, old, new;
	struct tcphdr *tcp;
	int partial;

	if (!c)
		return 0;
	partial = is_partial(ctx, c);
	number = bytes_at(ctx, c->l4 + at, L4_MASK, 4);
	if (!number)
		return 0;
	old = *number;
	new = bpf_htonl(bpf_ntohl(old) + by);
	*number = new;
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return 0;
	if (!partial)
		tcp->check = adjusted(tcp->check, swapped(0, old, new));
	return 1;
}

#endif
