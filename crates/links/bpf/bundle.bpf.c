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

#define FRAGMENT_TIMEOUT_NS 1000000000ULL

/* A link. 32 bytes. */
struct member {
	__u32 ifindex;
	__u32 flags;
	__u32 v4;
	__u32 unused;
	__u32 v6[4];
};

struct bundle {
	__u32 policy;
	__u32 length; /* turns; 0: no link lives */
	__u64 gap; /* nanoseconds */
	__u8 slots[SLOTS];
	struct member members[LINKS];
};

_Static_assert(sizeof(struct member) == 32, "as in src/table.rs");
_Static_assert(sizeof(struct bundle) == 336, "as in src/table.rs");

struct count {
	__u64 packets;
	__u64 bytes;
};

/* Where a datagram went, and when. */
struct last_link {
	__u64 at;
	__u32 link;
	__u32 unused;
};

/* Places of devices, and of their other ends. Arrays, for the verifier makes a lookup in one a few instructions. */
#define PLACES 64
#define KINDS 32

/* Whose place it is, 0: nobody's; and in which of its two bundles it has what holds. One is written while the other one
 * is read. */
struct bundle_slot {
	__u32 ifindex;
	__u32 which;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, struct bundle_slot);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * PLACES);
	__type(key, __u32);
	__type(value, struct bundle);
} bundles SEC(".maps");

/* Whose turn it is. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, __u64);
} turns SEC(".maps");

/* Until when somebody holds packets, nanoseconds of CLOCK_MONOTONIC: past that nothing is given to be held. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PLACES);
	__type(key, __u32);
	__type(value, __u64);
} leases SEC(".maps");

/* When a flow's last packet went, nanoseconds, and in the lowest bits by which link. Flows that fall on one entry are one
 * flow, as in a switch: they take one link until both are silent. */
#define FLOWS 65536

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FLOWS);
	__type(key, __u32);
	__type(value, __u64);
} flowlets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct last_link);
} datagrams SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PLACES * KINDS);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

/* A bundle at work: what holds, and its place. */
struct bundle_context {
	const struct bundle *bundle;
	__u32 bundle_slot;
};

/* A mask that the compiler cannot prove needless: the verifier wants to see it. */
static __always_inline __u64 masked(__u64 value, __u64 mask)
{
	asm volatile("%0 &= %1" : "+r"(value) : "r"(mask));
	return value;
}

static __always_inline int find(__u32 ifindex, struct bundle_context *out)
{
	for (__u32 i = 0; i < PLACES; i++) {
		__u32 bundle_slot = (ifindex + i) & (PLACES - 1), which;
		const struct bundle_slot *one = bpf_map_lookup_elem(&places, &bundle_slot);

		if (!one || one->ifindex != ifindex)
			continue;
		which = 2 * bundle_slot + (one->which & 1);
		out->bundle_slot = bundle_slot;
		out->bundle = bpf_map_lookup_elem(&bundles, &which);
		return !!out->bundle;
	}
	return 0;
}

static __always_inline void count(__u32 bundle_slot, __u32 what, __u32 bytes)
{
	__u32 key = bundle_slot * KINDS + what;
	struct count *to = bpf_map_lookup_elem(&counts, &key);

	if (to) {
		to->packets += 1;
		to->bytes += bytes;
	}
}

static __always_inline int drop(const struct __sk_buff *skb, __u32 bundle_slot, __u32 what)
{
	count(bundle_slot, what, skb->len);
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

static __always_inline __u32 next_turn(const struct bundle_context *at)
{
	__u64 *turn = bpf_map_lookup_elem(&turns, &at->bundle_slot);

	return pick(at->bundle, turn ? __sync_fetch_and_add(turn, 1) : 0);
}

static __always_inline int is_link_alive(const struct bundle *bundle, __u32 link)
{
	return bundle->members[masked(link, LINKS - 1)].flags & ALIVE;
}

static __always_inline __u32 flowlet_link(const struct bundle_context *at, const struct packet *packet, __u64 now,
					__u32 bytes)
{
	/* Each device orders the entries in its own way. */
	__u32 key = (packet->flow ^ (__u64)at->bundle_slot << 10) & (FLOWS - 1), link;
	__u64 *last = bpf_map_lookup_elem(&flowlets, &key);

	if (!last)
		return NO_LINK;
	link = *last & (LINKS - 1);
	if (!*last || now - (*last & ~(__u64)(LINKS - 1)) >= at->bundle->gap ||
	    !is_link_alive(at->bundle, link)) {
		link = next_turn(at);
		if (link >= LINKS)
			return link;
		count(at->bundle_slot, COUNT_FLOWLETS, bytes);
	}
	*last = (now & ~(__u64)(LINKS - 1)) | link;
	return link;
}

static __always_inline __u32 fragment_link(const struct bundle_context *at, const struct packet *packet,
					 __u64 now, __u32 bytes)
{
	struct last_link new = {.at = now}, *with;

	with = bpf_map_lookup_elem(&datagrams, &packet->datagram);
	if (with && now - with->at < FRAGMENT_TIMEOUT_NS && is_link_alive(at->bundle, with->link))
		return with->link & (LINKS - 1);
	new.link = at->bundle->policy == FLOWLET ? flowlet_link(at, packet, now, bytes) : next_turn(at);
	if (new.link < LINKS) {
		count(at->bundle_slot, COUNT_DATAGRAMS, bytes);
		bpf_map_update_elem(&datagrams, &packet->datagram, &new, BPF_ANY);
	}
	return new.link;
}

static __always_inline __u32 choose(const struct bundle_context *at, const struct packet *packet, __u32 bytes)
{
	switch (at->bundle->policy) {
	case HASH:
		return pick(at->bundle, packet->flow);
	case FAILOVER:
		return pick(at->bundle, 0);
	case FLOWLET:
		if (!packet->fragment)
			return flowlet_link(at, packet, bpf_ktime_get_ns(), bytes);
		break;
	default:
		if (!packet->fragment)
			return next_turn(at);
	}
	return fragment_link(at, packet, bpf_ktime_get_ns(), bytes);
}

/* Out by a link, to its next hop; the kernel finds that one's link address, or asks for it first. */
static __always_inline int forward(struct __sk_buff *skb, const struct bundle_context *at, __u32 link)
{
	const struct member *to = &at->bundle->members[masked(link, LINKS - 1)];
	struct bpf_redir_neigh hop = {};

	if (skb->protocol == bpf_htons(ETH_P_IP) && to->flags & HAS_V4) {
		hop.nh_family = INET;
		hop.ipv4_nh = to->v4;
	} else if (to->flags & HAS_V6) {
		hop.nh_family = INET6;
		for (int i = 0; i < 4; i++)
			hop.ipv6_nh[i] = to->v6[i];
	} else {
		return drop(skb, at->bundle_slot, COUNT_NO_HOP);
	}
	count(at->bundle_slot, link, skb->len);
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

static __always_inline int pass_to_hold_queue(struct __sk_buff *skb, __u32 bundle_slot, __u32 link)
{
	__u64 *until = bpf_map_lookup_elem(&leases, &bundle_slot);
	struct mark mark = {.head = bpf_htonl(MARK_HEAD), .next = MARK_NEXT, .link = link};

	if (!until || bpf_ktime_get_ns() >= *until) {
		count(bundle_slot, COUNT_UNHELD, skb->len);
		return 0;
	}
	if (bpf_skb_store_bytes(skb, 0, &mark, sizeof(mark), 0))
		return 0;
	count(bundle_slot, COUNT_HELD, skb->len);
	return 1;
}

SEC("tcx/egress")
int bundle_out(struct __sk_buff *skb)
{
	struct bundle_context at;
	struct packet packet = {};
	__u32 link;

	if (!find(skb->ifindex, &at))
		return NEXT;
	packet.wanted = at.bundle->policy == HASH || at.bundle->policy == FLOWLET;
	switch (read_packet(skb, &packet)) {
	case READ:
		break;
	case NO_IP:
		return drop(skb, at.bundle_slot, COUNT_NO_IP);
	case MULTICAST:
		return drop(skb, at.bundle_slot, COUNT_MULTICAST);
	default:
		return drop(skb, at.bundle_slot, COUNT_MALFORMED);
	}
	link = choose(&at, &packet, skb->len);
	if (link >= LINKS)
		return drop(skb, at.bundle_slot, COUNT_NO_LINK);
	if (at.bundle->members[masked(link, LINKS - 1)].flags & HELD && pass_to_hold_queue(skb, at.bundle_slot, link))
		return NEXT;
	return forward(skb, &at, link);
}

/* What was held and is due. Nothing else leaves by the device's other end. */
SEC("tcx/egress")
int bundle_due(struct __sk_buff *skb)
{
	struct bundle_context at;
	struct mark mark;
	__u32 link;

	if (!find(skb->ifindex, &at))
		return NEXT;
	if (bpf_skb_load_bytes(skb, 0, &mark, sizeof(mark)))
		return drop(skb, at.bundle_slot, COUNT_MALFORMED);
	if (mark.head != bpf_htonl(MARK_HEAD) || mark.next != MARK_NEXT)
		return drop(skb, at.bundle_slot, COUNT_STRAY);
	link = mark.link & (LINKS - 1);
	/* Its link died meanwhile: another one has it. */
	if (!is_link_alive(at.bundle, link))
		link = pick(at.bundle, 0);
	if (link >= LINKS)
		return drop(skb, at.bundle_slot, COUNT_NO_LINK);
	return forward(skb, &at, link);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
