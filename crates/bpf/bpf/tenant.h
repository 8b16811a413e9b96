/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The dispatcher is the only XDP program of an interface. It calls the tenants in the order of their slots; a tenant
 * that does not handle a packet calls the next one. This header only defines the slots. */
#ifndef STEELYARD_TENANT_H
#define STEELYARD_TENANT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Slots in the order of calls. They have the numbers of `bpf::attach::DispatcherSlot`. */
#define SLOT_TAP 0
#define SLOT_LINKS 1
#define SLOT_BALANCE 2
#define SLOT_DECAP 3
#define SLOTS 4

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} slots SEC(".maps");

/* Tail-calls the first tenant at or after the constant slot `from`. Without a tenant the packet passes to the host. */
#define pass_on(ctx, from)                                   \
	({                                                   \
		_Pragma("unroll") for (int slot_ = 0; slot_ < SLOTS; slot_++) \
			if (slot_ >= (from))                 \
				bpf_tail_call_static(ctx, &slots, slot_); \
		XDP_PASS;                                    \
	})

#endif
