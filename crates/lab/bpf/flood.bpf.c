// SPDX-License-Identifier: (Apache-2.0 OR MIT)
/*
 * Sends packets of many flows out of an interface (`flood`, for the kernel's test run with live frames), and takes them
 * away and counts them where they arrive (`drain`, in the driver; `drain_tc`, where no program runs there). All other
 * packets are the host's. It measures nothing.
 */

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

/* The first fields of the kernel's own. */
struct __sk_buff {
	u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority;
	u32 ingress_ifindex, ifindex, tc_index, cb[5], hash, tc_classid, data, data_end;
};

enum { XDP_ABORTED = 0, XDP_DROP = 1, XDP_PASS = 2, TC_OK = 0, TC_SHOT = 2, MAP_ARRAY = 2 };
enum { LENGTH = 64, KIND = 12, PROTOCOL = 23, IP_SOURCE = 26, PORT_SOURCE = 34, HEADERS = 42 };
enum { PORTS_IN_ADDRESS = 4096, FIRST_PORT = 2048, UDP = 17 };

#define SECTION(name) __attribute__((section(name), used))
#define NUMBER(name, value) int(*name)[value]

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const redirect)(u32 ifindex, u64 flags) = (void *)23;

/* What is sent; written by user space. */
struct flood {
	u32 flows; /* how many flows, at least 1 */
	u32 ifindex; /* where it leaves */
	u64 packets; /* sent so far */
	u8 packet[LENGTH]; /* the packet, but for its source port; no checksum of UDP */
};

struct {
	NUMBER(type, MAP_ARRAY);
	u32 *key;
	struct flood *value;
	NUMBER(max_entries, 1);
} floods SECTION(".maps");

struct {
	NUMBER(type, MAP_ARRAY);
	u32 *key;
	u64 *value;
	NUMBER(max_entries, 1);
} arrived SECTION(".maps");

SECTION("xdp") int flood(struct xdp_md *context)
{
	u32 zero = 0, flow;
	struct flood *plan = lookup(&floods, &zero);
	u8 *bytes = (u8 *)(long)context->data;
	u64 number;

	if (!plan || bytes + LENGTH > (u8 *)(long)context->data_end)
		return XDP_ABORTED;
#pragma unroll
	for (int word = 0; word < LENGTH / 8; word++)
		((u64 *)bytes)[word] = ((u64 *)plan->packet)[word];
	/* Every flow comes about equally often, in no order that a cache could foresee. */
	number = plan->packets++ * 0x9e3779b97f4a7c15ULL;
	flow = (u32)(((number >> 32) * plan->flows) >> 32);
	*(u16 *)(bytes + PORT_SOURCE) = __builtin_bswap16(FIRST_PORT + flow % PORTS_IN_ADDRESS);
	return redirect(plan->ifindex, 0);
}

/* Whether it is a datagram of IPv4; it is counted then. */
static __attribute__((always_inline)) int is_ours(u8 *bytes, u8 *end)
{
	u32 zero = 0;
	u64 *count;

	if (bytes + HEADERS > end || bytes[KIND] != 8 || bytes[KIND + 1] != 0 || bytes[PROTOCOL] != UDP)
		return 0;
	count = lookup(&arrived, &zero);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 1;
}

SECTION("xdp") int drain(struct xdp_md *context)
{
	return is_ours((u8 *)(long)context->data, (u8 *)(long)context->data_end) ? XDP_DROP : XDP_PASS;
}

SECTION("tc") int drain_tc(struct __sk_buff *context)
{
	return is_ours((u8 *)(long)context->data, (u8 *)(long)context->data_end) ? TC_SHOT : TC_OK;
}

SECTION("license") char terms[] = "Dual MIT/GPL";
