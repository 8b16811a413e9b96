/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Segments of `nat` with more data than their receiver announced in its SYN. What both ends announced is noted beside the
 * record; where it is not known, because the connection began before or at another machine, nothing is dropped. */
#ifndef STEELYARD_SEGMENT_H
#define STEELYARD_SEGMENT_H

#include "nat.h"
#include "normalize.h"

#define CLIENT_SEGMENT 0
#define SERVER_SEGMENT 1

/* What an end announced, lowered as the service lowers it; or a segment that may be too large. Ends the walk, or goes on.
 * In the stack one frame may stand for many segments, so only frames in the driver are looked at. */
GLOBAL int check_segment(struct xdp_md *ctx, struct cursor *c, const struct service *service, __u32 side)
{
	struct announced *both;
	struct record *record;
	__u32 most, at;

	if (!c || !service)
		return XDP_DROP;
	record = entry(records, c->record);
	both = entry(announced, c->record / 2);
	if (!record || !both || !(*(volatile __u64 *)&record->word >> 16 & RECORD_SIZED))
		return GO_ON;
	at = c->record & 1;
	if (c->tcp & SYN) {
		most = announced_mss(ctx, c);
		if (service->mss && service->mss < most)
			most = service->mss;
		if (side == CLIENT_SEGMENT)
			both->client[at] = most;
		else
			both->server[at] = most;
		return GO_ON;
	}
	most = side == CLIENT_SEGMENT ? both->server[at] : both->client[at];
	if (most && data_bytes(c) > most && is_native(ctx))
		return drop(c, MSS_EXCEEDED);
	return GO_ON;
}

/* Whether a packet of a service is for `check_segment`. */
INLINE int needs_segment_check(const struct cursor *c, const struct service *service)
{
	return action_of(service->normalize, EXCEED_MSS) && service->method == NAT && is_tcp(c);
}

#endif
