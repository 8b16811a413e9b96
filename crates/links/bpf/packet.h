/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What a packet is chosen by: a hash of its flow, and of its datagram where it is a fragment. It chooses nothing. */
#ifndef LINKS_PACKET_H
#define LINKS_PACKET_H

#define TCP 6
#define UDP 17
#define SCTP 132
#define MORE_FRAGMENTS 0x2000
#define FRAGMENT_OFFSET 0x1fff
#define EXTENSIONS 4
#define SEED 0x243f6a8885a308d3ULL

/* What a packet is chosen by. */
struct packet {
	__u64 flow; /* where it is wanted, and of fragments */
	__u64 datagram; /* of a fragment */
	int fragment;
	int wanted; /* the flow, of packets that are whole */
};

/* What came of reading one. */
#define READ 0
#define MALFORMED 1
#define NO_IP 2
#define MULTICAST 3

struct v4 {
	__u8 version_length;
	__u8 service;
	__be16 total;
	__be16 number;
	__be16 fragment;
	__u8 hops;
	__u8 protocol;
	__be16 sum;
	__be32 source;
	__be32 destination;
};

struct v6 {
	__be32 version;
	__be16 length;
	__u8 next;
	__u8 hops;
	__be32 address[8];
};

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	return hash ^ hash >> 29;
}

/* Has the first bytes of a packet lie where a program can look at them. */
static __always_inline void reach(struct __sk_buff *skb, __u32 bytes)
{
	if ((void *)(long)skb->data + bytes > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, bytes);
}

/* Read anew each time: the verifier wants to see the comparison on every path, and compilers spare it. */
#define DATA(skb) ((void *)(long)*(volatile __u32 *)&(skb)->data)
#define DATA_END(skb) ((void *)(long)*(volatile __u32 *)&(skb)->data_end)

/* Both ports, as they lie there; the usual places need no call. */
static __always_inline int read_ports(struct __sk_buff *skb, __u32 at, __be32 *ports)
{
	if (at == ETH_HLEN + sizeof(struct v4)) {
		const __be32 *there = DATA(skb) + ETH_HLEN + sizeof(struct v4);

		if ((void *)(there + 1) <= DATA_END(skb)) {
			*ports = *there;
			return 1;
		}
	}
	return !bpf_skb_load_bytes(skb, at, ports, sizeof(*ports));
}

/* The last word of a flow: protocol and ports, which fragments do not have. */
static __always_inline int finish(struct __sk_buff *skb, __u32 at, __u8 protocol, struct packet *out,
				  __u32 number)
{
	__u64 last = (__u64)protocol << 32;
	__be32 ports;

	if (!out->fragment && (protocol == TCP || protocol == UDP || protocol == SCTP)) {
		if (!read_ports(skb, at, &ports))
			return MALFORMED;
		last |= bpf_ntohl(ports);
	}
	out->flow = mix(out->flow, last);
	if (out->fragment)
		out->datagram = mix(out->flow, number);
	return READ;
}

static __always_inline int read_v4(struct __sk_buff *skb, struct packet *out)
{
	const struct v4 *ip;
	__u32 header;

	reach(skb, ETH_HLEN + sizeof(*ip));
	ip = DATA(skb) + ETH_HLEN;
	if ((void *)(ip + 1) > DATA_END(skb))
		return MALFORMED;
	header = (ip->version_length & 0xf) * 4;
	if (header < sizeof(*ip))
		return MALFORMED;
	out->fragment = !!(ip->fragment & bpf_htons(MORE_FRAGMENTS | FRAGMENT_OFFSET));
	if (!out->wanted && !out->fragment)
		return READ;
	out->flow = mix(SEED, (__u64)bpf_ntohl(ip->source) << 32 | bpf_ntohl(ip->destination));
	return finish(skb, ETH_HLEN + header, ip->protocol, out, bpf_ntohs(ip->number));
}

static __always_inline int read_v6(struct __sk_buff *skb, struct packet *out)
{
	const struct v6 *ip;
	struct {
		__u8 next;
		__u8 length;
		__be16 offset;
		__be32 number;
	} extension;
	__u32 at = ETH_HLEN + sizeof(*ip), number = 0;
	__u8 next;

	reach(skb, ETH_HLEN + sizeof(*ip));
	ip = DATA(skb) + ETH_HLEN;
	if ((void *)(ip + 1) > DATA_END(skb))
		return MALFORMED;
	out->flow = SEED;
	for (int i = 0; i < 8; i += 2)
		out->flow = mix(out->flow, (__u64)bpf_ntohl(ip->address[i]) << 32 |
						   bpf_ntohl(ip->address[i + 1]));
	next = ip->next;
	for (int i = 0; i < EXTENSIONS; i++) {
		/* Hop by hop, routing, destination options; a fragment's header (RFC 8200 §4). */
		if (next != 0 && next != 43 && next != 60 && next != 44)
			break;
		if (bpf_skb_load_bytes(skb, at, &extension, sizeof(extension)))
			return MALFORMED;
		if (next == 44) {
			out->fragment = !!(extension.offset & bpf_htons(0xfff9));
			number = bpf_ntohl(extension.number);
			at += sizeof(extension);
			next = extension.next;
			break;
		}
		at += (extension.length + 1) * 8;
		next = extension.next;
	}
	return finish(skb, at, next, out, number);
}

static __always_inline int read_packet(struct __sk_buff *skb, struct packet *out)
{
	const __u8 *to;

	reach(skb, ETH_HLEN);
	to = DATA(skb);
	if ((void *)(to + ETH_HLEN) > DATA_END(skb))
		return MALFORMED;
	if (*to & 1)
		return MULTICAST;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return read_v4(skb, out);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return read_v6(skb, out);
	return NO_IP;
}

#endif
