/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Unwraps what a balancer's tunnels bring to a server: IPv4 and IPv6 in IPv4 and IPv6 (RFC 2003, RFC 2473), in GRE
 * (RFC 2784) and in GUE of both variants (draft-ietf-intarea-gue). What it does not take goes on as it came: wrapped
 * fragments, IPv4 options outside, VLAN tags that the card leaves in the frame. The host checks the inner packet. */
#include "tenant.h"
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

/* `settings.takes`; `l4::decap` has the same numbers. */
#define PROTOCOL_IPIP 1
#define PROTOCOL_GRE 2
#define PROTOCOL_GUE 4

/* Indexes of `counts`, in the order of `l4::decap::Counts`. Every packet with a wrap that is taken ends in one. */
#define UNWRAPPED_IPIP 0
#define UNWRAPPED_GRE 1
#define UNWRAPPED_GUE 2
/* Dropped: its sender may not. */
#define FOREIGN_SOURCE 3
/* Dropped: ends inside a header, or holds no IP packet. */
#define MALFORMED 4
/* Dropped: a router signalled congestion that the inner packet cannot carry (RFC 6040 §4.2). */
#define CONGESTED 5
/* Handed on: a fragment, or a form that is not unwrapped here. */
#define NOT_HANDLED 6
#define COUNTS 7

#define CE 3

struct settings {
	/* `TAKES_…`. */
	__u32 protocols;
	/* Port of GUE, host order. */
	__u16 port;
	/* Whether `from` decides who may send. */
	__u16 guarded;
};

struct prefix {
	__u32 bits;
	__u8 addr[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} from SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* What was found of the outer headers. */
struct outer {
	/* Bytes from the outer IP header to what it carries, and of further headers up to the inner packet. */
	__u32 header;
	__u8 proto;
	__u8 ecn;
	/* EtherType of the inner packet, in network order; 0 while unknown. */
	__be16 inner;
	__u32 done;
	struct prefix source;
};

struct gre {
	__be16 flags;
	__be16 kind;
};

static __always_inline int count(__u32 what, int verdict)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &what);

	if (value)
		(*value)++;
	return verdict;
}

static __always_inline __be16 kind_of(__u8 proto)
{
	if (proto == IPPROTO_IPIP)
		return bpf_htons(ETH_P_IP);
	return proto == IPPROTO_IPV6 ? bpf_htons(ETH_P_IPV6) : 0;
}

static __always_inline int is_wrap(__u8 proto)
{
	return proto == IPPROTO_IPIP || proto == IPPROTO_IPV6 || proto == IPPROTO_GRE || proto == IPPROTO_UDP;
}

/* The outer IP header; 0 when there is nothing to unwrap. Negative: a wrap that is not taken. */
static __always_inline int outer_ip(struct xdp_md *ctx, struct outer *o)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ethernet = data;

	if (data + sizeof(*ethernet) > end)
		return 0;
	if (ethernet->h_proto == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + sizeof(*ethernet);

		if ((void *)(ip + 1) > end || ip->version != 4 || !is_wrap(ip->protocol))
			return 0;
		o->proto = ip->protocol;
		o->ecn = ip->tos & 3;
		o->header = sizeof(*ip);
		__builtin_memset(o->source.addr + 10, 0xff, 2);
		__builtin_memcpy(o->source.addr + 12, &ip->saddr, 4);
		return ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff) ? -1 : 1;
	}
	if (ethernet->h_proto == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = data + sizeof(*ethernet);

		if ((void *)(ip + 1) > end || ip->version != 6 || !is_wrap(ip->nexthdr))
			return 0;
		o->proto = ip->nexthdr;
		o->ecn = ip->flow_lbl[0] >> 4 & 3;
		o->header = sizeof(*ip);
		__builtin_memcpy(o->source.addr, &ip->saddr, 16);
		return 1;
	}
	return 0;
}

static __always_inline int inside_gre(struct xdp_md *ctx, struct outer *o)
{
	struct gre gre;

	if (bpf_xdp_load_bytes(ctx, ETH_HLEN + o->header, &gre, sizeof(gre)))
		return MALFORMED;
	/* Checksums, keys, sequence numbers and other versions are somebody else's. */
	if (gre.flags || (gre.kind != bpf_htons(ETH_P_IP) && gre.kind != bpf_htons(ETH_P_IPV6)))
		return NOT_HANDLED;
	o->header += sizeof(gre);
	o->inner = gre.kind;
	o->done = UNWRAPPED_GRE;
	return -1;
}

static __always_inline int inside_gue(struct xdp_md *ctx, struct outer *o)
{
	__u8 head[4];

	if (bpf_xdp_load_bytes(ctx, ETH_HLEN + o->header + sizeof(struct udphdr), head, sizeof(head)))
		return MALFORMED;
	o->header += sizeof(struct udphdr);
	o->done = UNWRAPPED_GUE;
	if (head[0] >> 6 == 1) {
		o->inner = head[0] >> 4 == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
		return head[0] >> 4 == 4 || head[0] >> 4 == 6 ? -1 : MALFORMED;
	}
	/* Variant 0: control messages, and headers with flags that change the packet, are not taken. */
	if (head[0] >> 5 || head[2] || head[3])
		return NOT_HANDLED;
	o->header += 4 + (head[0] & 31) * 4;
	o->inner = kind_of(head[1]);
	return o->inner ? -1 : NOT_HANDLED;
}

/* -1: everything up to the inner packet is known; -2: not a wrap; else what is to be counted. */
static __always_inline int parse_inner(struct xdp_md *ctx, const struct settings *s, struct outer *o)
{
	struct udphdr udp;

	if (o->proto == IPPROTO_GRE)
		return s->protocols & PROTOCOL_GRE ? inside_gre(ctx, o) : -2;
	if (o->proto == IPPROTO_UDP) {
		if (!(s->protocols & PROTOCOL_GUE) || bpf_xdp_load_bytes(ctx, ETH_HLEN + o->header, &udp, sizeof(udp)) ||
		    udp.dest != bpf_htons(s->port))
			return -2;
		return inside_gue(ctx, o);
	}
	if (!(s->protocols & PROTOCOL_IPIP))
		return -2;
	o->inner = kind_of(o->proto);
	o->done = UNWRAPPED_IPIP;
	return -1;
}

/* Hands a router's congestion mark on to the inner packet (RFC 6040 §4.2); 0 when it cannot carry it. */
static __always_inline int set_ce_mark(struct xdp_md *ctx, __be16 kind)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (kind == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + ETH_HLEN;
		__u32 sum;

		if ((void *)(ip + 1) > end || !(ip->tos & 3))
			return 0;
		/* RFC 1624: the sum changes by what the word changes. */
		sum = (__u16)~bpf_ntohs(ip->check) + (CE - (ip->tos & 3));
		ip->tos |= CE;
		sum = (sum & 0xffff) + (sum >> 16);
		ip->check = bpf_htons((__u16)~sum);
		return 1;
	}
	struct ipv6hdr *ip = data + ETH_HLEN;

	if ((void *)(ip + 1) > end || !(ip->flow_lbl[0] & 0x30))
		return 0;
	ip->flow_lbl[0] |= CE << 4;
	return 1;
}

/* Takes the outer headers off. */
static __always_inline int strip(struct xdp_md *ctx, const struct outer *o)
{
	__u8 first, addresses[12];
	__u32 need = o->inner == bpf_htons(ETH_P_IP) ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	__u32 version = o->inner == bpf_htons(ETH_P_IP) ? 4 : 6;
	struct ethhdr *ethernet;

	if (bpf_xdp_load_bytes(ctx, ETH_HLEN + o->header, &first, 1) || first >> 4 != version ||
	    ETH_HLEN + o->header + need > bpf_xdp_get_buff_len(ctx))
		return count(MALFORMED, XDP_DROP);
	if (bpf_xdp_load_bytes(ctx, 0, addresses, sizeof(addresses)) || bpf_xdp_adjust_head(ctx, (int)o->header))
		return count(MALFORMED, XDP_DROP);
	ethernet = (void *)(long)ctx->data;
	if ((void *)(ethernet + 1) > (void *)(long)ctx->data_end)
		return count(MALFORMED, XDP_DROP);
	__builtin_memcpy(ethernet, addresses, sizeof(addresses));
	ethernet->h_proto = o->inner;
	if (o->ecn == CE && !set_ce_mark(ctx, o->inner))
		return count(CONGESTED, XDP_DROP);
	return count(o->done, XDP_PASS);
}

SEC("xdp.frags")
int decap(struct xdp_md *ctx)
{
	struct outer o = { .source.bits = 128 };
	__u32 zero = 0;
	struct settings *s = bpf_map_lookup_elem(&settings, &zero);
	int found = s ? outer_ip(ctx, &o) : 0;
	int what;

	if (!found)
		return pass_on(ctx, SLOT_DECAP + 1);
	if (found < 0) {
		/* Fragments of datagrams are everybody's; of other wraps only ours. */
		if (o.proto != IPPROTO_UDP)
			count(NOT_HANDLED, 0);
		return pass_on(ctx, SLOT_DECAP + 1);
	}
	what = parse_inner(ctx, s, &o);
	if (what == -2)
		return pass_on(ctx, SLOT_DECAP + 1);
	if (s->guarded && !bpf_map_lookup_elem(&from, &o.source))
		return count(FOREIGN_SOURCE, XDP_DROP);
	if (what == NOT_HANDLED) {
		count(NOT_HANDLED, 0);
		return pass_on(ctx, SLOT_DECAP + 1);
	}
	if (what >= 0)
		return count(what, XDP_DROP);
	return strip(ctx, &o);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
