/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What tells a forwarded flow from others: addresses, protocol and ports, or what ICMP has for ports. It chooses nothing. */
#ifndef LINKS_FLOW_H
#define LINKS_FLOW_H

#define ICMP 1
#define TCP 6
#define UDP 17
#define ICMP6 58
#define SCTP 132
#define SYN 2
#define ACK 16
#define MORE_FRAGMENTS 0x2000
#define FRAGMENT_OFFSET 0x1fff
#define EXTENSIONS 4

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

struct key {
	__be32 source[4];
	__be32 destination[4];
	__be32 ports; /* of a fragment: its datagram's number */
	__u8 protocol;
	__u8 v6;
	__u8 fragment;
	__u8 unused;
};

/* What tells a flow from others; `number`: of the datagram, where this is a fragment and not the first. */
struct packet_headers {
	struct key key;
	__u32 number;
	int begins; /* of TCP: SYN without ACK */
	int first; /* the first of several fragments */
	int later; /* one behind it */
	int hop; /* packets with one hop left are not forwarded */
};

static __always_inline int read_upper(struct __sk_buff *skb, __u32 at, struct packet_headers *out)
{
	__u8 protocol = out->key.protocol, flags, head[2];

	if (out->later)
		return 1;
	if (protocol == TCP || protocol == UDP || protocol == SCTP) {
		if (bpf_skb_load_bytes(skb, at, &out->key.ports, 4))
			return 0;
	} else if (protocol == ICMP || protocol == ICMP6) {
		if (bpf_skb_load_bytes(skb, at, head, 1))
			return 0;
		/* Questions of an echo have a number of who asks. */
		if (head[0] == (protocol == ICMP ? 8 : 128)) {
			if (bpf_skb_load_bytes(skb, at + 4, head, 2))
				return 0;
			out->key.ports = head[0] << 8 | head[1];
		}
	}
	if (protocol == TCP) {
		if (bpf_skb_load_bytes(skb, at + 13, &flags, 1))
			return 0;
		out->begins = (flags & (SYN | ACK)) == SYN;
	}
	return 1;
}

static __always_inline int take_v4(struct __sk_buff *skb, struct packet_headers *out)
{
	struct v4 ip;
	__u16 fragment;

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)) || (ip.version_length & 15) < 5)
		return 0;
	fragment = bpf_ntohs(ip.fragment);
	out->key.source[0] = ip.source;
	out->key.destination[0] = ip.destination;
	out->key.protocol = ip.protocol;
	out->number = ip.number;
	out->later = !!(fragment & FRAGMENT_OFFSET);
	out->first = !out->later && fragment & MORE_FRAGMENTS;
	out->hop = ip.hops;
	return read_upper(skb, ETH_HLEN + (ip.version_length & 15) * 4, out);
}

static __always_inline int take_v6(struct __sk_buff *skb, struct packet_headers *out)
{
	struct v6 ip;
	struct {
		__u8 next;
		__u8 length;
		__be16 offset;
		__be32 number;
	} extension;
	__u32 at = ETH_HLEN + sizeof(ip);

	if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof(ip)))
		return 0;
	__builtin_memcpy(out->key.source, ip.address, 32);
	out->key.v6 = 1;
	out->key.protocol = ip.next;
	out->hop = ip.hops;
	for (int i = 0; i < EXTENSIONS; i++) {
		__u8 next = out->key.protocol;

		if (next != 0 && next != 43 && next != 60 && next != 44)
			break;
		if (bpf_skb_load_bytes(skb, at, &extension, sizeof(extension)))
			return 0;
		out->key.protocol = extension.next;
		if (next == 44) {
			out->later = !!(extension.offset & bpf_htons(0xfff8));
			out->first = !out->later && extension.offset & bpf_htons(1);
			out->number = extension.number;
			at += sizeof(extension);
			break;
		}
		at += (extension.length + 1) * 8;
	}
	return read_upper(skb, at, out);
}

#endif
