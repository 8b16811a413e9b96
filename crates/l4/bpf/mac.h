/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* `mac`: the frame goes on to the server's link address; not a byte of the packet changes. */
#ifndef STEELYARD_MAC_H
#define STEELYARD_MAC_H

#include "direct.h"
#include "reply.h"

INLINE int mac(struct xdp_md *ctx, struct cursor *c, const struct server *server)
{
	struct next_hop next_hop;

	if (unlikely(server->flags & SERVER_LOCAL))
		return end(c, COLLOCATED, XDP_PASS);
	if (unlikely(!next_hop_to(ctx, c, server, &next_hop)))
		return drop(c, NEIGHBOUR_UNKNOWN);
	if (unlikely(too_large(ctx, c, c->length, &next_hop)))
		return send_too_big(ctx, c, next_hop.mtu);
	return send_frame(ctx, c, &next_hop, FORWARDED);
}

#endif
