/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Answers a packet ourselves: 'too big' (RFC 792, RFC 1191, RFC 4443 §3.2), 'time exceeded' (RFC 792, RFC 4443 §3.3) and
 * resets (RFC 9293 §3.10.7.1). The packet itself becomes the answer and leaves where it came from. */
#ifndef STEELYARD_REPLY_H
#define STEELYARD_REPLY_H

#include "send.h"
#include "translate.h"

/* Bytes of the packet that errors quote: an IPv4 header with all options and eight more, for IPv6 more is wanted; of
 * shorter packets the headers of a segment, or at least eight bytes behind the IP header. */
#define QUOTE4 68
#define QUOTE4_SYN 40
#define QUOTE4_LEAST 28
#define QUOTE6 128
#define QUOTE6_SYN 60
#define QUOTE6_LEAST 48
/* Types and codes of errors. */
#define UNREACHABLE_TOO_BIG (3 << 8 | 4)
#define TOO_BIG_6 (2 << 8)
#define TIME_EXCEEDED_4 (11 << 8)
#define TIME_EXCEEDED_6 (3 << 8)
#define ICMP_HEADER 8
/* A link header with two tags. */
#define LINK_BYTES 22

struct icmp_header {
	__u8 kind;
	__u8 code;
	__sum16 check;
	__be32 rest;
};

/* Lays the link header, which begins at `at`, to the packet's start; with `turn` its ends change places. */
INLINE int move_link(struct xdp_md *ctx, __u32 at, int turn)
{
	__u16 words[LINK_BYTES / 2], *from = bytes_at(ctx, at, 127, LINK_BYTES), *to;

	if (!from)
		return 0;
#pragma unroll
	for (int i = 0; i < LINK_BYTES / 2; i++)
		words[i] = from[i];
	to = bytes_at(ctx, 0, 127, LINK_BYTES);
	if (!to)
		return 0;
#pragma unroll
	for (int i = 0; i < LINK_BYTES / 2; i++)
		to[i] = words[turn && i < 6 ? (i + 3) % 6 : i];
	return 1;
}

/* By words, and summed before they are written: a processor that reads back what it has just written in other sizes
 * waits for it. */
INLINE void outer_v4(struct iphdr *ip, __u32 src, __u32 dst, __u32 length, __u8 proto, __u8 tos, int whole)
{
	__be32 *words = (__be32 *)ip;
	__be32 first = bpf_htonl(0x45U << 24 | (__u32)tos << 16 | (length & 0xffff));
	__be32 second = whole ? bpf_htonl(0x4000) : 0;
	__be32 third = bpf_htonl(64U << 24 | (__u32)proto << 16);
	__u16 check = ~folded((__u64)first + second + third + src + dst);

	words[0] = first;
	words[1] = second;
	words[2] = third | bpf_htonl(bpf_ntohs(check));
	words[3] = src;
	words[4] = dst;
}

INLINE void outer_v6(struct ipv6hdr *ip, const struct addr *src, const struct addr *dst, __u32 payload, __u8 proto,
		     __u8 tos, __u32 label)
{
	*(__be32 *)ip = bpf_htonl(6U << 28 | (__u32)tos << 20 | (label & 0xfffff));
	ip->payload_len = bpf_htons(payload);
	ip->nexthdr = proto;
	ip->hop_limit = 64;
	copy16((struct addr *)&ip->saddr, src);
	copy16((struct addr *)&ip->daddr, dst);
}

/* From whom an error of ours comes: the interface's address, or the service's. */
INLINE void error_source(struct xdp_md *ctx, const struct cursor *c, struct addr *from)
{
	__u32 index = ctx->ingress_ifindex;
	struct interface *in = bpf_map_lookup_elem(&interfaces, &index);
	const struct addr *ours = in ? (const struct addr *)(c->family == 4 ? in->addr4 : in->addr6) : NULL;

	*from = ours && ours->w[3] ? *ours : c->dst;
}

INLINE int quoted_v4(struct xdp_md *ctx, struct cursor *c, const struct addr *from, __u32 says, __u32 rest, __u32 quote)
{
	struct iphdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip) + ICMP_HEADER + quote);
	struct icmp_header *icmp = (void *)(ip + 1);

	if (!ip)
		return 0;
	outer_v4(ip, from->w[3], c->src.w[3], sizeof(*ip) + ICMP_HEADER + quote, IPPROTO_ICMP, 0, 0);
	icmp->kind = says >> 8;
	icmp->code = says;
	icmp->check = 0;
	icmp->rest = bpf_htonl(rest);
	icmp->check = ~folded(bpf_csum_diff(NULL, 0, (__be32 *)icmp, ICMP_HEADER + quote, 0));
	return 1;
}

INLINE int quoted_v6(struct xdp_md *ctx, struct cursor *c, const struct addr *from, __u32 says, __u32 rest, __u32 quote)
{
	struct ipv6hdr *ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(*ip) + ICMP_HEADER + quote);
	struct icmp_header *icmp = (void *)(ip + 1);
	__u64 sum;

	if (!ip)
		return 0;
	outer_v6(ip, from, &c->src, ICMP_HEADER + quote, IPPROTO_ICMPV6, 0, 0);
	icmp->kind = says >> 8;
	icmp->code = says;
	icmp->check = 0;
	icmp->rest = bpf_htonl(rest);
	sum = bpf_csum_diff(NULL, 0, (__be32 *)icmp, ICMP_HEADER + quote, 0);
	icmp->check = ~folded(sum + pseudo(from, &c->src, ICMP_HEADER + quote, IPPROTO_ICMPV6, 6));
	return 1;
}

/* Bytes of the packet that are quoted; 0 where it is too short to be told of. */
INLINE __u32 quote_of(const struct cursor *c)
{
	if (c->family == 6) {
		if (c->length >= QUOTE6)
			return QUOTE6;
		return c->length >= QUOTE6_SYN ? QUOTE6_SYN : c->length >= QUOTE6_LEAST ? QUOTE6_LEAST : 0;
	}
	if (c->length >= QUOTE4)
		return QUOTE4;
	/* Eight bytes behind the header at least (RFC 792). */
	if (c->l4 - c->l3 > sizeof(struct iphdr))
		return 0;
	return c->length >= QUOTE4_SYN ? QUOTE4_SYN : c->length >= QUOTE4_LEAST ? QUOTE4_LEAST : 0;
}

/* Nobody is told of errors by an error, of a later fragment, or of too many. */
INLINE int may_send_error(const struct cursor *c)
{
	struct event_tick *sent = entry(replies, 0);

	if (!sent || c->marks & LATER_FRAGMENT || c->proto == IPPROTO_ICMP || c->proto == IPPROTO_ICMPV6)
		return 0;
	if (sent->tick != c->tick) {
		sent->tick = c->tick;
		sent->told = 0;
	}
	return __sync_fetch_and_add(&sent->told, 1) < REPLIES_LIMIT;
}

#define TOLD 1
#define NOT_SENT 0
#define SPOILT -1

/* Writes an error and its header before the bytes that it quotes: those from the IP header on, which makes room. */
GLOBAL int write_quoting(struct xdp_md *ctx, struct cursor *c, const struct addr *from, __u32 says, __u32 rest)
{
	__u32 quote;

	if (!c || !from)
		return 0;
	quote = quote_of(c);
	if (quote == QUOTE6)
		return quoted_v6(ctx, c, from, says, rest, QUOTE6);
	if (quote == QUOTE6_SYN)
		return quoted_v6(ctx, c, from, says, rest, QUOTE6_SYN);
	if (quote == QUOTE6_LEAST)
		return quoted_v6(ctx, c, from, says, rest, QUOTE6_LEAST);
	if (quote == QUOTE4)
		return quoted_v4(ctx, c, from, says, rest, QUOTE4);
	if (quote == QUOTE4_SYN)
		return quoted_v4(ctx, c, from, says, rest, QUOTE4_SYN);
	return quoted_v4(ctx, c, from, says, rest, QUOTE4_LEAST);
}

/* Makes an ICMP error of the packet, to whom it came from; `says` is type and code. `NOT_SENT`: it is as it was. */
GLOBAL int send_icmp_error(struct xdp_md *ctx, struct cursor *c, __u32 says, __u32 rest)
{
	__u32 quote, more, frame = bpf_xdp_get_buff_len(ctx);
	struct addr from;

	if (!c)
		return SPOILT;
	quote = quote_of(c);
	if (!quote || !may_send_error(c))
		return NOT_SENT;
	more = ICMP_HEADER + (c->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr));
	error_source(ctx, c, &from);
	if (bpf_xdp_adjust_tail(ctx, (int)(c->l3 + quote) - (int)frame) || bpf_xdp_adjust_head(ctx, -(int)more))
		return SPOILT;
	if (!move_link(ctx, more, 1))
		return SPOILT;
	return write_quoting(ctx, c, &from, says, rest) ? TOLD : SPOILT;
}

/* Ends the walk of a packet that does not fit a way of `mtu`. */
GLOBAL int send_too_big(struct xdp_md *ctx, struct cursor *c, __u32 mtu)
{
	int done;

	if (!c)
		return XDP_DROP;
	/* Senders that allow fragments are told too, where none are made of their packets: hosts learn from it. */
	if (c->family == 4)
		done = send_icmp_error(ctx, c, UNREACHABLE_TOO_BIG, mtu & 0xffff);
	else
		done = send_icmp_error(ctx, c, TOO_BIG_6, mtu);
	if (done == TOLD)
		return return_to_sender(ctx, c, TOO_BIG);
	return drop(c, done == NOT_SENT ? OVERSIZE : RESIZE_FAILED);
}

/* Ends the walk of a packet whose hop limit runs out here. */
GLOBAL int send_time_exceeded(struct xdp_md *ctx, struct cursor *c)
{
	int done;

	if (!c)
		return XDP_DROP;
	done = send_icmp_error(ctx, c, c->family == 4 ? TIME_EXCEEDED_4 : TIME_EXCEEDED_6, 0);
	if (done == TOLD)
		return return_to_sender(ctx, c, TIME_EXCEEDED);
	return drop(c, done == NOT_SENT ? TTL_EXPIRED : RESIZE_FAILED);
}

/* A segment of our own. Without `mss` it has no options. */
struct segment {
	__u32 seq;
	__u32 ack;
	__u16 window;
	__u16 mss;
	__u8 flags;
	__u8 pad[3];
};

#define MSS_OPTION 4

/* Writes a segment's header but for its ports and checksum; gives the sum of all but its ports. */
INLINE __u64 write_segment(struct tcphdr *tcp, const struct segment *s)
{
	__be16 *words = (__be16 *)tcp;

	tcp->seq = bpf_htonl(s->seq);
	tcp->ack_seq = bpf_htonl(s->ack);
	words[6] = bpf_htons((s->mss ? 6 : 5) << 12 | s->flags);
	words[7] = bpf_htons(s->window);
	tcp->check = 0;
	tcp->urg_ptr = 0;
	return (__u64)tcp->seq + tcp->ack_seq + words[6] + words[7];
}

/* The option of the largest segment (RFC 9293 §3.2). */
INLINE __be32 mss_option(const struct segment *s)
{
	return bpf_htonl(2 << 24 | MSS_OPTION << 16 | s->mss);
}

/* Makes of a packet a segment to whom it came from, in the name of whom it was for; 0 when it cannot be resized. */
GLOBAL int reply_segment(struct xdp_md *ctx, struct cursor *c, const struct segment *s)
{
	__u32 size, more, frame = bpf_xdp_get_buff_len(ctx);
	struct tcphdr *tcp;
	__u64 sum;
	void *ip;

	if (!c || !s)
		return 0;
	more = s->mss ? MSS_OPTION : 0;
	size = c->family == 4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	if (bpf_xdp_adjust_tail(ctx, (int)(c->l3 + size + sizeof(*tcp) + more) - (int)frame) || !move_link(ctx, 0, 1))
		return 0;
	ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(struct iphdr));
	if (!ip)
		return 0;
	if (c->family == 4) {
		outer_v4(ip, c->dst.w[3], c->src.w[3], sizeof(struct iphdr) + sizeof(*tcp) + more, IPPROTO_TCP, 0, 1);
	} else {
		ip = bytes_at(ctx, c->l3, L3_MASK, sizeof(struct ipv6hdr));
		if (!ip)
			return 0;
		outer_v6(ip, &c->dst, &c->src, sizeof(*tcp) + more, IPPROTO_TCP, 0, 0);
	}
	tcp = bytes_at(ctx, c->l3 + size, 127, sizeof(*tcp));
	if (!tcp)
		return 0;
	tcp->source = c->dport;
	tcp->dest = c->sport;
	sum = write_segment(tcp, s) + c->dport + c->sport;
	if (more) {
		__be32 *option = bytes_at(ctx, c->l3 + size + sizeof(*tcp), 127, MSS_OPTION);

		if (!option)
			return 0;
		*option = mss_option(s);
		sum += *option;
		tcp = bytes_at(ctx, c->l3 + size, 127, sizeof(*tcp));
		if (!tcp)
			return 0;
	}
	tcp->check = ~folded(sum + pseudo(&c->dst, &c->src, sizeof(*tcp) + more, IPPROTO_TCP, c->family));
	return 1;
}

/* Ends the walk of a segment whose connection is to end: its sender gets a reset. */
GLOBAL int reset(struct xdp_md *ctx, struct cursor *c)
{
	struct segment s = { 0 };
	struct tcphdr *tcp;

	if (!c || c->tcp & RST)
		return c ? drop(c, NO_FLOW) : XDP_DROP;
	tcp = bytes_at(ctx, c->l4, L4_MASK, sizeof(*tcp));
	if (!tcp)
		return drop(c, RESIZE_FAILED);
	if (c->tcp & ACK) {
		s.flags = RST;
		s.seq = bpf_ntohl(tcp->ack_seq);
	} else {
		s.flags = RST | ACK;
		s.ack = c->seq + c->length - (c->l4 - c->l3) - c->tcp_size + !!(c->tcp & FIN) + !!(c->tcp & SYN);
	}
	if (!reply_segment(ctx, c, &s))
		return drop(c, RESIZE_FAILED);
	return return_to_sender(ctx, c, RESET_SENT);
}

#endif
