/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Which uplink a connection takes: what this machine begins is marked as it connects, what it forwards as it comes in.
 * Routing rules lead marked packets to the routing table of their uplink; user space writes rules and tables, and says
 * here which uplinks live and in which shares they are chosen. No packet is changed or dropped. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "flow.h"

/* `TCX_NEXT` of linux/bpf.h, which older headers do not have. */
#define NEXT -1
#define INET 2
#define INET6 10
#define SOCKET_LEVEL 1
#define MARK_OPTION 36

/* As src/uplink/table.rs has them. */
#define UPLINKS 8
#define WHEEL 256
#define OWN 0
#define FORWARDED 1
#define REROUTED 2
#define KINDS 4

/* A flow that was silent for so long is a new one. */
#define FLOW_IDLE_NS (180 * 1000000000ULL)
/* A flow that takes no uplink is looked at again after so long: routes change. */
#define UNROUTED_RECHECK_NS (2 * 1000000000ULL)

struct settings {
	__u64 network_namespace; /* the network namespace whose sockets are ours */
	__u32 shift; /* the marks' lowest bit */
	__u32 mask; /* all their bits */
	__u32 alive[2]; /* a bit for each uplink, by family */
	__u32 pins_source[2]; /* connections have their uplink's address: they end with it */
	__u32 interfaces[UPLINKS]; /* where uplinks begin; 0: none */
};

struct wheel {
	__u8 turns[WHEEL]; /* numbers of uplinks, from 1 on; 0: none */
};

_Static_assert(sizeof(struct settings) == 64, "as in src/uplink/table.rs");
_Static_assert(sizeof(struct wheel) == 256, "as in src/uplink/table.rs");

struct flow {
	__u64 at; /* its last packet */
	__u64 chosen;
	__u32 uplink; /* 0: it takes none */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct wheel);
} wheels SEC(".maps");

/* Whose number each uplink's is, by a hash of its name: for the process that comes next. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, UPLINKS + 1);
	__type(key, __u32);
	__type(value, __u64);
} owners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct key);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct key);
	__type(value, __u32);
} fragments SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, (UPLINKS + 1) * KINDS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline struct settings *load_settings(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&settings, &zero);
}

static __always_inline void count(__u32 uplink, __u32 kind)
{
	__u32 at = uplink * KINDS + kind;
	__u64 *number = bpf_map_lookup_elem(&counts, &at);

	if (number)
		*number += 1;
}

/* By chance: turns taken one after the other would fall together with what programs do in turns. */
static __always_inline __u32 choose(__u32 v6)
{
	struct wheel *wheel = bpf_map_lookup_elem(&wheels, &v6);

	return wheel ? wheel->turns[bpf_get_prandom_u32() & (WHEEL - 1)] : 0;
}

static __always_inline int is_uplink_alive(const struct settings *set, __u32 v6, __u32 uplink)
{
	return set->alive[v6 & 1] >> (uplink & 31) & 1;
}

/* A socket that begins a connection: one that its owner bound to an address or interface goes where that leads. */
static __always_inline int mark_socket(struct bpf_sock_addr *ctx, __u32 v6, int bound)
{
	const struct settings *set = load_settings();
	__u32 mark = 0, uplink;

	if (!set || !set->mask || bound || bpf_get_netns_cookie(ctx) != set->network_namespace)
		return 1;
	if (bpf_getsockopt(ctx, SOCKET_LEVEL, MARK_OPTION, &mark, sizeof(mark)))
		return 1;
	uplink = choose(v6);
	mark = (mark & ~set->mask) | uplink << (set->shift & 31);
	if (!bpf_setsockopt(ctx, SOCKET_LEVEL, MARK_OPTION, &mark, sizeof(mark)))
		count(uplink & 15, OWN);
	return 1;
}

static __always_inline int is_local_scope4(__u32 ip)
{
	return ip >> 24 == 127 || ip >> 16 == 0xa9fe || ip >> 28 >= 14 || !ip;
}

SEC("cgroup/connect4")
int uplink_own4(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sock = ctx->sk;

	if (is_local_scope4(bpf_ntohl(ctx->user_ip4)) || !sock)
		return 1;
	return mark_socket(ctx, 0, sock->bound_dev_if || sock->src_ip4);
}

SEC("cgroup/connect6")
int uplink_own6(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sock = ctx->sk;
	__u32 first = bpf_ntohl(ctx->user_ip6[0]), third = bpf_ntohl(ctx->user_ip6[2]);
	__u32 last = bpf_ntohl(ctx->user_ip6[3]);
	int bound;

	if (!sock)
		return 1;
	bound = sock->bound_dev_if || sock->src_ip6[0] || sock->src_ip6[1] || sock->src_ip6[2] ||
		sock->src_ip6[3];
	if (!first && !ctx->user_ip6[1]) {
		/* An address of IPv4 in one of IPv6 (RFC 4291 §2.5.5.2); others that begin so are this machine. */
		if (third != 0xffff || is_local_scope4(last))
			return 1;
		return mark_socket(ctx, 0, bound);
	}
	if (first >> 22 == 0x3fa || first >> 24 == 0xff)
		return 1;
	return mark_socket(ctx, 1, bound);
}

/* Whether the kernel sends it out by an uplink's interface. */
static __always_inline int leaves_by_uplink(struct __sk_buff *skb, const struct settings *set, struct packet_headers *read)
{
	struct bpf_fib_lookup to = {};
	long found;

	to.ifindex = skb->ingress_ifindex;
	to.l4_protocol = read->key.protocol;
	if (read->key.v6) {
		to.family = INET6;
		__builtin_memcpy(to.ipv6_src, read->key.source, 16);
		__builtin_memcpy(to.ipv6_dst, read->key.destination, 16);
	} else {
		to.family = INET;
		to.ipv4_src = read->key.source[0];
		to.ipv4_dst = read->key.destination[0];
	}
	found = bpf_fib_lookup(skb, &to, sizeof(to), 0);
	if (found != BPF_FIB_LKUP_RET_SUCCESS && found != BPF_FIB_LKUP_RET_NO_NEIGH)
		return 0;
	for (int i = 0; i < UPLINKS; i++)
		if (set->interfaces[i] && set->interfaces[i] == to.ifindex)
			return 1;
	return 0;
}

/* Whether a flow that is known goes on as it did. */
static __always_inline int keeps_uplink(const struct settings *set, const struct flow *flow,
				   const struct packet_headers *read, __u64 now)
{
	__u32 v6 = read->key.v6;

	if (!flow->uplink)
		return now - flow->chosen < UNROUTED_RECHECK_NS && !read->begins;
	if (now - flow->at > FLOW_IDLE_NS && (read->key.protocol != TCP || read->begins))
		return 0;
	return is_uplink_alive(set, v6, flow->uplink) || (set->pins_source[v6 & 1] && !read->begins);
}

static __always_inline __u32 uplink_of(struct __sk_buff *skb, const struct settings *set,
				       struct packet_headers *read)
{
	__u64 now = bpf_ktime_get_coarse_ns();
	struct flow *flow = bpf_map_lookup_elem(&flows, &read->key);
	struct flow new = {.at = now, .chosen = now};

	if (flow && keeps_uplink(set, flow, read, now)) {
		if (now - flow->at > 1000000000ULL)
			flow->at = now;
		return flow->uplink;
	}
	if (leaves_by_uplink(skb, set, read)) {
		new.uplink = choose(read->key.v6) & 15;
		count(new.uplink, flow && flow->uplink && !read->begins ? REROUTED : FORWARDED);
	}
	bpf_map_update_elem(&flows, &read->key, &new, BPF_ANY);
	return new.uplink;
}

SEC("tc")
int uplink_inside(struct __sk_buff *skb)
{
	const struct settings *set = load_settings();
	struct packet_headers read = {};
	struct key datagram;
	__u32 uplink = 0, *found;
	int ours;

	if (!set || !set->mask)
		return NEXT;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		ours = take_v4(skb, &read);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		ours = take_v6(skb, &read);
	else
		return NEXT;
	if (!ours || read.hop <= 1)
		return NEXT;
	datagram = read.key;
	datagram.ports = read.number;
	datagram.fragment = 1;
	if (read.later) {
		found = bpf_map_lookup_elem(&fragments, &datagram);
		uplink = found ? *found : 0;
	} else {
		uplink = uplink_of(skb, set, &read);
		if (read.first)
			bpf_map_update_elem(&fragments, &datagram, &uplink, BPF_ANY);
	}
	if (uplink)
		skb->mark = (skb->mark & ~set->mask) | uplink << (set->shift & 31);
	return NEXT;
}

char _license[] SEC("license") = "Dual MIT/GPL";
