/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Whether an address that is shared with another machine may be forwarded for: only while its holder here lives. User
 * space says until when; an address that it says nothing of is shared with nobody. */
#ifndef STEELYARD_GATE_H
#define STEELYARD_GATE_H

#include "count.h"

/* The clock is the precise one: the coarse one stands still while the processor that keeps it does. */
INLINE int is_shut(const struct config *k, const void *address)
{
	const __u64 *until = bpf_map_lookup_elem(&holds, address);

	return until && (k->clock_ns ? k->clock_ns : bpf_ktime_get_ns()) >= *until;
}

/* Whether a packet of this service and address ends here. Services that share no address pay for one bit. */
INLINE int gated(const struct config *k, const struct service *service, const void *address)
{
	return unlikely(service->flags & SERVICE_SHARED) && is_shut(k, address);
}

#endif
