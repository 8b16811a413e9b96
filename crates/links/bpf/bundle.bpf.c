/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* A bundle's device: what leaves by it takes one of the bundle's links, to that link's next hop. User space says which
 * links live, in which order they take turns, and which policy chooses; it reads no packet, unless packets of a shorter
 * link are held: those go out by the device's other end, and come back from there when they are due.
 *
 * The arithmetic is that of src/choose.rs and src/schedule.rs; tests/rows holds both against each other. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

/* `TCX_NEXT` and `TCX_DROP` of linux/bpf.h, which older headers do not have. */
#define NEXT -1
#define DROP 2
/* AF_INET and AF_INET6 of the kernel. */
#define INET 2
#define INET6 10

/* As src/schedule.rs has them. */
#define LINKS 8
#define SLOTS 64
#define NO_LINK LINKS

/* Policies, as src/table.rs writes them. */
#define ROUND_ROBIN 0
#define HASH 1
#define FLOWLET 2
#define FAILOVER 3

/* Flags of a link. */
#define ALIVE 1
#define HELD 2
#define HAS_V4 4
#define HAS_V6 8

/* What is counted besides the links' own packets, 0 to LINKS - 1; named in src/plane.rs. */
#define COUNT_HELD 16
#define COUNT_UNHELD 17
#define COUNT_DATAGRAMS 18
#define COUNT_FLOWLETS 19
#define COUNT_NO_LINK 24
#define COUNT_NO_IP 25
#define COUNT_NO_HOP 26
#define COUNT_MULTICAST 27
#define COUNT_MALFORMED 28
#define COUNT_STRAY 29

#define TOGETHER 1000000000ULL

/* A link. 32 bytes. */
struct member {
	__u32 ifindex;
	__u32 flags;
	__u32 v4;
	__u32 unused;
	__u32 v6[4];
};

/* A bundle, under the numbers of both ends of its device. */
struct bundle {
	__u32 policy;
	__u32 length; /* turns; 0: no link lives */
	__u64 gap; /* nanoseconds */
	__u8 slots[SLOTS];
	struct member members[LINKS];
};

_Static_assert(sizeof(struct member) == 32, "as in src/table.rs");
_Static_assert(sizeof(struct bundle) == 336, "as in src/table.rs");

struct counted {
	__u32 ifindex;
	__u32 what;
};

struct count {
	__u64 packets;
	__u64 bytes;
};

/* Where a flow or a datagram went, and when. */
struct went {
	__u64 at;
	__u32 link;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, struct bundle);
} bundles SEC(".maps");

/* Whose turn it is. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} turns SEC(".maps");

/* Until when somebody holds packets, nanoseconds of CLOCK_MONOTONIC: past that nothing is given to be held. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} leases SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct went);
} flowlets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct went);
} datagrams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct counted);
	__type(value, struct count);
} counts SEC(".maps");

/* A mask that the compiler cannot prove needless: the verifier wants to see it. */
static __always_inline __u64 masked(__u64 value, __u64 mask)
{
	asm volatile("%0 &= %1" : "+r"(value) : "r"(mask));
	return value;
}

static __always_inline void count(__u32 ifindex, __u32 what, __u32 bytes)
{
	struct counted key = {.ifindex = ifindex, .what = what};
	struct count *to = bpf_map_lookup_elem(&counts, &key);

	if (to) {
		to->packets += 1;
		to->bytes += bytes;
	}
}

static __always_inline int drop(const struct __sk_buff *skb, __u32 what)
{
	count(skb->ifindex, what, skb->len);
	return DROP;
}

/* The link of a turn's number or a hash. */
static __always_inline __u32 pick(const struct bundle *bundle, __u64 number)
{
	__u32 length = bundle->length, slot;

	if (length == 0 || length > SLOTS)
		return NO_LINK;
	slot = (__u32)(number ^ number >> 32) % length;
	return bundle->slots[masked(slot, SLOTS - 1)] & (LINKS - 1);
}

static __always_inline __u32 next_turn(const struct bundle *bundle, __u32 ifindex)
{
	__u64 *turn = bpf_map_lookup_elem(&turns, &ifindex);

	return pick(bundle, turn ? __sync_fetch_and_add(turn, 1) : 0);
}

static __always_inline int alive(const struct bundle *bundle, __u32 link)
{
	return bundle->members[masked(link, LINKS - 1)].flags & ALIVE;
}

static __always_inline __u32 of_flowlet(const struct bundle *bundle, __u32 ifindex,
					const struct packet *packet, __u64 now, __u32 bytes)
{
	struct went *last = bpf_map_lookup_elem(&flowlets, &packet->flow);
	struct went new = {.at = now};

	if (last && now - last->at < bundle->gap && alive(bundle, last->link)) {
		last->at = now;
		return last->link & (LINKS - 1);
	}
	new.link = next_turn(bundle, ifindex);
	if (new.link < LINKS) {
		count(ifindex, COUNT_FLOWLETS, bytes);
		bpf_map_update_elem(&flowlets, &packet->flow, &new, BPF_ANY);
	}
	return new.link;
}

static __always_inline __u32 choose(const struct bundle *bundle, __u32 ifindex,
				    const struct packet *packet, __u32 bytes)
{
	struct went new = {}, *with;

	if (bundle->policy == HASH)
		return pick(bundle, packet->flow);
	if (bundle->policy == FAILOVER)
		return pick(bundle, 0);
	if (bundle->policy == ROUND_ROBIN && !packet->fragment)
		return next_turn(bundle, ifindex);
	new.at = bpf_ktime_get_ns();
	if (packet->fragment) {
		with = bpf_map_lookup_elem(&datagrams, &packet->datagram);
		if (with && new.at - with->at < TOGETHER && alive(bundle, with->link))
			return with->link & (LINKS - 1);
	}
	new.link = bundle->policy == FLOWLET ? of_flowlet(bundle, ifindex, packet, new.at, bytes)
					     : next_turn(bundle, ifindex);
	if (packet->fragment && new.link < LINKS) {
		count(ifindex, COUNT_DATAGRAMS, bytes);
		bpf_map_update_elem(&datagrams, &packet->datagram, &new, BPF_ANY);
	}
	return new.link;
}

/* Out by a link, to its next hop; the kernel finds that one's link address, or asks for it first. */
static __always_inline int forward(struct __sk_buff *skb, const struct bundle *bundle, __u32 link)
{
	const struct member *to = &bundle->members[masked(link, LINKS - 1)];
	struct bpf_redir_neigh hop = {};

	if (skb->protocol == bpf_htons(ETH_P_IP) && to->flags & HAS_V4) {
		hop.nh_family = INET;
		hop.ipv4_nh = to->v4;
	} else if (to->flags & HAS_V6) {
		hop.nh_family = INET6;
		for (int i = 0; i < 4; i++)
			hop.ipv6_nh[i] = to->v6[i];
	} else {
		return drop(skb, COUNT_NO_HOP);
	}
	count(skb->ifindex, link, skb->len);
	return bpf_redirect_neigh(to->ifindex, &hop, sizeof(hop), 0);
}

/* Link addresses of packets that are held: a fixed beginning, and the link's number. */
#define MARK_HEAD 0x0253594c
#define MARK_NEXT 0x4b

struct mark {
	__be32 head;
	__u8 next;
	__u8 link;
} __attribute__((packed));

static __always_inline int held(struct __sk_buff *skb, __u32 link)
{
	__u32 ifindex = skb->ifindex;
	__u64 *until = bpf_map_lookup_elem(&leases, &ifindex);
	struct mark mark = {.head = bpf_htonl(MARK_HEAD), .next = MARK_NEXT, .link = link};

	if (!until || bpf_ktime_get_ns() >= *until) {
		count(ifindex, COUNT_UNHELD, skb->len);
		return 0;
	}
	if (bpf_skb_store_bytes(skb, 0, &mark, sizeof(mark), 0))
		return 0;
	count(ifindex, COUNT_HELD, skb->len);
	return 1;
}

SEC("tcx/egress")
int bundle_out(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, link;
	const struct bundle *bundle = bpf_map_lookup_elem(&bundles, &ifindex);
	struct packet packet = {};
	__u8 to;

	if (!bundle)
		return NEXT;
	if (bpf_skb_load_bytes(skb, 0, &to, 1))
		return drop(skb, COUNT_MALFORMED);
	if (to & 1)
		return drop(skb, COUNT_MULTICAST);
	if (skb->protocol == bpf_htons(ETH_P_IP)) {
		if (!read_v4(skb, &packet))
			return drop(skb, COUNT_MALFORMED);
	} else if (skb->protocol == bpf_htons(ETH_P_IPV6)) {
		if (!read_v6(skb, &packet))
			return drop(skb, COUNT_MALFORMED);
	} else {
		return drop(skb, COUNT_NO_IP);
	}
	link = choose(bundle, ifindex, &packet, skb->len);
	if (link >= LINKS)
		return drop(skb, COUNT_NO_LINK);
	if (bundle->members[masked(link, LINKS - 1)].flags & HELD && held(skb, link))
		return NEXT;
	return forward(skb, bundle, link);
}

/* What was held and is due. Nothing else leaves by the device's other end. */
SEC("tcx/egress")
int bundle_due(struct __sk_buff *skb)
{
	__u32 ifindex = skb->ifindex, link;
	const struct bundle *bundle = bpf_map_lookup_elem(&bundles, &ifindex);
	struct mark mark;

	if (!bundle)
		return NEXT;
	if (bpf_skb_load_bytes(skb, 0, &mark, sizeof(mark)))
		return drop(skb, COUNT_MALFORMED);
	if (mark.head != bpf_htonl(MARK_HEAD) || mark.next != MARK_NEXT)
		return drop(skb, COUNT_STRAY);
	link = mark.link & (LINKS - 1);
	/* Its link died meanwhile: another one has it. */
	if (!alive(bundle, link))
		link = pick(bundle, 0);
	if (link >= LINKS)
		return drop(skb, COUNT_NO_LINK);
	return forward(skb, bundle, link);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
