/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Which service a destination is, the most specific first: address and port, a range or any port of the address, any
 * address with the port, anything. It looks at nothing but the destination. */
#ifndef STEELYARD_SERVICE_H
#define STEELYARD_SERVICE_H

#include "parse.h"

INLINE struct vip *vip_of(const struct cursor *c, const struct addr *addr, __be16 port)
{
	if (c->family == 4) {
		struct vip4 key = { .port = port, .proto = c->proto };

		*(__u32 *)key.addr = addr ? addr->w[3] : 0;
		return bpf_map_lookup_elem(&vips4, &key);
	} else {
		struct vip6 key = { .port = port, .proto = c->proto };

		if (addr)
			copy16((struct addr *)key.addr, addr);
		return bpf_map_lookup_elem(&vips6, &key);
	}
}

/* The service of an any-port entry: the first of its ranges that holds the port, or the whole address. */
INLINE __u32 in_ranges(const struct vip *vip, __u16 port)
{
#pragma unroll
	for (__u32 i = 0; i < PORT_RANGES; i++) {
		if (i < vip->ranges && port >= vip->from[i] && port <= vip->to[i])
			return vip->owner[i];
	}
	return vip->service;
}

GLOBAL __u32 wild_service(struct cursor *c, const struct addr *to, __be16 port, __u32 flags)
{
	struct vip *vip;
	__u32 found;

	if (!c || !to)
		return NONE;
	if (flags & CONFIG_ANY_PORT) {
		vip = vip_of(c, to, 0);
		found = vip ? in_ranges(vip, bpf_ntohs(port)) : NONE;
		if (found != NONE)
			return found;
	}
	if (!(flags & CONFIG_ANY_ADDRESS))
		return NONE;
	vip = vip_of(c, NULL, port);
	if (vip && vip->service != NONE)
		return vip->service;
	vip = vip_of(c, NULL, 0);
	return vip ? in_ranges(vip, bpf_ntohs(port)) : NONE;
}

/* Index of the service for an address and port, or `NONE`. */
INLINE __u32 service_of(struct cursor *c, const struct addr *to, __be16 port, __u32 flags)
{
	struct vip *vip = vip_of(c, to, port);

	if (likely(vip && vip->service != NONE))
		return vip->service;
	if (flags & (CONFIG_ANY_PORT | CONFIG_ANY_ADDRESS))
		return wild_service(c, to, port, flags);
	return NONE;
}

#endif
