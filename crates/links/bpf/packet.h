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
	__u64 flow;
	__u64 datagram; /* of a fragment */
	int fragment;
};

static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	return hash ^ hash >> 29;
}

/* The last word of a flow: protocol and ports, which fragments do not have. */
static __always_inline int finish(struct __sk_buff *skb, __u32 at, __u8 protocol, struct packet *out,
				  __u32 number)
{
	__u64 last = (__u64)protocol << 32;
	__be16 ports[2];

	if (!out->fragment && (protocol == TCP || protocol == UDP || protocol == SCTP)) {
		if (bpf_skb_load_bytes(skb, at, ports, sizeof(ports)))
			return 0;
		last |= (__u64)bpf_ntohs(ports[0]) << 16 | bpf_ntohs(ports[1]);
	}
	out->flow = mix(out->flow, last);
	out->datagram = mix(out->flow, number);
	return 1;
}

static __always_inline int read_v4(struct __sk_buff *skb, struct packet *out)
{
	struct {
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
	} ip;
	__u32 header;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return 0;
	header = (ip.version_length & 0xf) * 4;
	if (header < sizeof(ip))
		return 0;
	out->fragment = !!(ip.fragment & bpf_htons(MORE_FRAGMENTS | FRAGMENT_OFFSET));
	out->flow = mix(SEED, (__u64)bpf_ntohl(ip.source) << 32 | bpf_ntohl(ip.destination));
	return finish(skb, ETH_HLEN + header, ip.protocol, out, bpf_ntohs(ip.number));
}

static __always_inline int read_v6(struct __sk_buff *skb, struct packet *out)
{
	struct {
		__be32 version;
		__be16 length;
		__u8 next;
		__u8 hops;
		__be64 address[4];
	} ip;
	struct {
		__u8 next;
		__u8 length;
		__be16 offset;
		__be32 number;
	} extension;
	__u32 at = ETH_HLEN + sizeof(ip), number = 0;
	__u8 next;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return 0;
	out->flow = SEED;
	for (int i = 0; i < 4; i++)
		out->flow = mix(out->flow, bpf_be64_to_cpu(ip.address[i]));
	next = ip.next;
	for (int i = 0; i < EXTENSIONS; i++) {
		/* Hop by hop, routing, destination options; a fragment's header (RFC 8200 §4). */
		if (next != 0 && next != 43 && next != 60 && next != 44)
			break;
		if (bpf_skb_load_bytes(skb, at, &extension, sizeof(extension)))
			return 0;
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

#endif
