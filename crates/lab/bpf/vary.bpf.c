// SPDX-License-Identifier: (Apache-2.0 OR MIT)
/*
 * Hands a program under test one packet after the other, each of another flow: the test-run of the kernel repeats one
 * packet only. It puts back what the program before did to the packet. It measures nothing.
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

enum { XDP_ABORTED = 0, XDP_TX = 3, MAP_ARRAY = 2, MAP_PROGRAMS = 3 };
enum { LENGTH = 64, IP_SOURCE = 26, PORT_SOURCE = 34, PORTS_IN_ADDRESS = 4096, FIRST_PORT = 2048 };

#define SECTION(name) __attribute__((section(name), used))
#define NUMBER(name, value) int(*name)[value]

static void *(*const lookup)(void *map, const void *key) = (void *)1;
static long (*const tail_call)(void *context, void *map, u32 index) = (void *)12;
static long (*const adjust_head)(struct xdp_md *context, int bytes) = (void *)44;

/* What is sent; written by user space. */
struct plan {
	u32 flows; /* how many flows, at least 1 */
	u32 in_order; /* one flow after the other instead of any */
	u64 packets; /* sent so far */
	u8 packet[LENGTH]; /* the packet, but for its source */
};

struct {
	NUMBER(type, MAP_ARRAY);
	u32 *key;
	struct plan *value;
	NUMBER(max_entries, 1);
} plans SECTION(".maps");

struct {
	NUMBER(type, MAP_PROGRAMS);
	u32 *key;
	u32 *value;
	NUMBER(max_entries, 1);
} plain SECTION(".maps");

struct {
	NUMBER(type, MAP_PROGRAMS);
	u32 *key;
	u32 *value;
	NUMBER(max_entries, 1);
} frags SECTION(".maps");

/* A number below `plan->flows`; every one comes about equally often, in no order that a cache could foresee. */
static u32 flow_of(struct plan *plan)
{
	u64 number = plan->packets++;

	if (plan->in_order)
		return (u32)number % plan->flows;
	number *= 0x9e3779b97f4a7c15ULL;
	return (u32)(((number >> 32) * plan->flows) >> 32);
}

static __attribute__((always_inline)) int next(struct xdp_md *context, void *programs)
{
	u32 zero = 0, flow;
	u32 length = context->data_end - context->data;
	struct plan *plan = lookup(&plans, &zero);
	u64 *to, *from;
	u8 *bytes;

	if (!plan)
		return XDP_ABORTED;
	if (length != LENGTH && adjust_head(context, (int)length - LENGTH))
		return XDP_ABORTED;
	bytes = (u8 *)(long)context->data;
	if (bytes + LENGTH > (u8 *)(long)context->data_end)
		return XDP_ABORTED;
	to = (u64 *)bytes;
	from = (u64 *)plan->packet;
#pragma unroll
	for (int word = 0; word < LENGTH / 8; word++)
		to[word] = from[word];
	flow = flow_of(plan);
	*(u32 *)(bytes + IP_SOURCE) = __builtin_bswap32(0x0b000000 + flow / PORTS_IN_ADDRESS);
	*(u16 *)(bytes + PORT_SOURCE) = __builtin_bswap16(FIRST_PORT + flow % PORTS_IN_ADDRESS);
	tail_call(context, programs, 0);
	return XDP_ABORTED;
}

/* Before programs that take packets of one piece. */
SECTION("xdp") int vary_plain(struct xdp_md *context)
{
	return next(context, &plain);
}

/* Before programs that take packets of several pieces. */
SECTION("xdp.frags") int vary_frags(struct xdp_md *context)
{
	return next(context, &frags);
}

/* Does nothing: what remains is the cost of this file. */
SECTION("xdp") int idle(struct xdp_md *context)
{
	(void)context;
	return XDP_TX;
}

/* Makes room as a tunnel does: with `idle` it tells what putting back costs. */
SECTION("xdp") int grow(struct xdp_md *context)
{
	return adjust_head(context, -20) ? XDP_ABORTED : XDP_TX;
}

SECTION("license") char terms[] = "Dual MIT/GPL";
