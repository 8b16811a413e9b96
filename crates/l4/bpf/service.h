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

GLOBAL __u32 any_port_service(struct cursor *c, const struct addr *to, __be16 port)
{
	struct vip *vip;

	if (!c || !to)
		return NONE;
	vip = vip_of(c, to, 0);
	return vip ? in_ranges(vip, bpf_ntohs(port)) : NONE;
}

/* The service that names the address, or `NONE`. */
INLINE __u32 named_service(struct cursor *c, const struct addr *to, __be16 port, __u32 flags)
{
	struct vip *vip = vip_of(c, to, port);

	if (likely(vip && vip->service != NONE))
		return vip->service;
	if (unlikely(flags & CONFIG_ANY_PORT))
		return any_port_service(c, to, port);
	return NONE;
}

/* The service of every address that a port belongs to, or `NONE`. What came to an address of this host belongs to it
 * only where the service names the port: else the host's own connections and listeners would be taken away. */
GLOBAL __u32 any_address_service(struct cursor *c, const struct addr *to, __be16 port)
{
	struct vip *vip;
	__u32 *kinds;

	if (!c || !to)
		return NONE;
	vip = vip_of(c, NULL, port);
	if (vip && vip->service != NONE)
		return vip->service;
	vip = vip_of(c, NULL, 0);
	if (!vip)
		return NONE;
	kinds = bpf_map_lookup_elem(&addresses, to);
	return kinds && *kinds & ADDRESS_OWN ? NONE : in_ranges(vip, bpf_ntohs(port));
}

/* Index of the service for an address and port, or `NONE`. */
INLINE __u32 service_of(struct cursor *c, const struct addr *to, __be16 port, __u32 flags)
{
	__u32 found = named_service(c, to, port, flags);

	if (unlikely(found == NONE && flags & CONFIG_ANY_ADDRESS))
		return any_address_service(c, to, port);
	return found;
}

#endif
