/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Fencing: the gate of the dead-man timer. User space leases a shared address or a virtual router's MAC address until a
 * given time. After that time the gate drops all packets to or from the address, ARP and neighbour discovery included,
 * although the kernel still has the address. It also drops packets sent from the MAC address. Addresses without a lease
 * entry pass. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* TCX_NEXT and TCX_DROP of linux/bpf.h, which older headers lack. */
#define NEXT -1
#define DROP 2

/* The virtual router's MAC address begins with 00:00:5e:00 (RFC 9568 section 7.3). Its key in the map is ten zero bytes
 * and the six bytes of the MAC address, which is the address of no host. */
#define ROUTER_LOW 0x5e000000
#define ROUTER_MASK 0xffff0000

/* Offsets in a frame without VLAN tags, which the kernel stores in the skb's metadata. */
#define ARP_SENDER (ETH_HLEN + 14)
#define ARP_TARGET (ETH_HLEN + 24)
#define V4_SOURCE (ETH_HLEN + 12)
#define V4_DESTINATION (ETH_HLEN + 16)
#define V6_NEXT (ETH_HLEN + 6)
#define V6_SOURCE (ETH_HLEN + 8)
#define V6_DESTINATION (ETH_HLEN + 24)
#define ND_TYPE (ETH_HLEN + 40)
#define ND_TARGET (ETH_HLEN + 48)
#define ICMP6 58
#define SOLICITATION 135
#define ADVERTISEMENT 136

/* Indexes of `shut`, in the order of the fields of `bpf::gate::BlockedPackets`. */
#define BLOCKED_RESOLUTION 0
#define BLOCKED_INBOUND 1
#define BLOCKED_OUTBOUND 2
#define BLOCKED_KINDS 3

/* IPv4 as ::ffff:a.b.c.d. */
struct address {
	__u32 word[4];
};

/* The end of each lease, in nanoseconds of CLOCK_MONOTONIC. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct address);
	__type(value, __u64);
} holds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BLOCKED_KINDS);
	__type(key, __u32);
	__type(value, __u64);
} shut SEC(".maps");

static __always_inline int is_expired(const struct address *at)
{
	const __u64 *until = bpf_map_lookup_elem(&holds, at);

	return until && bpf_ktime_get_ns() >= *until;
}

static __always_inline int is_expired_v4(struct __sk_buff *skb, __u32 offset)
{
	struct address at = {.word = {0, 0, bpf_htonl(0xffff), 0}};

	return !bpf_skb_load_bytes(skb, offset, &at.word[3], 4) && is_expired(&at);
}

static __always_inline int is_expired_v6(struct __sk_buff *skb, __u32 offset)
{
	struct address at;

	return !bpf_skb_load_bytes(skb, offset, &at, sizeof(at)) && is_expired(&at);
}

/* Whether the source is a virtual router's MAC address whose lease has ended, so that another machine may use it. */
static __always_inline int is_expired_router(struct __sk_buff *skb)
{
	struct address at = {.word = {0, 0, 0, 0}};

	if (bpf_skb_load_bytes(skb, ETH_ALEN, (__u8 *)&at + sizeof(at) - ETH_ALEN, ETH_ALEN))
		return 0;
	if (at.word[2] || (at.word[3] & bpf_htonl(ROUTER_MASK)) != bpf_htonl(ROUTER_LOW))
		return 0;
	return is_expired(&at);
}

static __always_inline int count_and_drop(__u32 why)
{
	__u64 *count = bpf_map_lookup_elem(&shut, &why);

	if (count)
		*count += 1;
	return DROP;
}

/* Whether this is a neighbour discovery message of this type about an address whose lease has ended. */
static __always_inline int is_expired_neighbour(struct __sk_buff *skb, __u8 kind)
{
	__u8 next, type;

	if (bpf_skb_load_bytes(skb, V6_NEXT, &next, 1) || next != ICMP6)
		return 0;
	if (bpf_skb_load_bytes(skb, ND_TYPE, &type, 1) || type != kind)
		return 0;
	return is_expired_v6(skb, ND_TARGET);
}

SEC("tcx/ingress")
int gate_in(struct __sk_buff *skb)
{
	switch (skb->protocol) {
	case bpf_htons(ETH_P_ARP):
		return is_expired_v4(skb, ARP_TARGET) ? count_and_drop(BLOCKED_RESOLUTION) : NEXT;
	case bpf_htons(ETH_P_IP):
		return is_expired_v4(skb, V4_DESTINATION) ? count_and_drop(BLOCKED_INBOUND) : NEXT;
	case bpf_htons(ETH_P_IPV6):
		if (is_expired_neighbour(skb, SOLICITATION))
			return count_and_drop(BLOCKED_RESOLUTION);
		return is_expired_v6(skb, V6_DESTINATION) ? count_and_drop(BLOCKED_INBOUND) : NEXT;
	}
	return NEXT;
}

SEC("tcx/egress")
int gate_out(struct __sk_buff *skb)
{
	if (is_expired_router(skb))
		return count_and_drop(BLOCKED_OUTBOUND);
	switch (skb->protocol) {
	case bpf_htons(ETH_P_ARP):
		return is_expired_v4(skb, ARP_SENDER) ? count_and_drop(BLOCKED_RESOLUTION) : NEXT;
	case bpf_htons(ETH_P_IP):
		return is_expired_v4(skb, V4_SOURCE) ? count_and_drop(BLOCKED_OUTBOUND) : NEXT;
	case bpf_htons(ETH_P_IPV6):
		if (is_expired_neighbour(skb, ADVERTISEMENT))
			return count_and_drop(BLOCKED_RESOLUTION);
		return is_expired_v6(skb, V6_SOURCE) ? count_and_drop(BLOCKED_OUTBOUND) : NEXT;
	}
	return NEXT;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
