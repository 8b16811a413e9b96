/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* An interface has one XDP program: the dispatcher. It calls the tenants in the order of their slots; a tenant that
 * has no business with a packet calls the next one. This header gives tenants the slots and nothing else. */
#ifndef STEELYARD_TENANT_H
#define STEELYARD_TENANT_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Slots in order of call. `bpf::Slot` has the same numbers, checked by a test. */
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

/* Goes to the first tenant at or after slot `from`, a constant, and does not come back; without one the host has it. */
#define pass_on(ctx, from)                                   \
	({                                                   \
		_Pragma("unroll") for (int slot_ = 0; slot_ < SLOTS; slot_++) \
			if (slot_ >= (from))                 \
				bpf_tail_call_static(ctx, &slots, slot_); \
		XDP_PASS;                                    \
	})

#endif
