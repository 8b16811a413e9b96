/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Counts: every packet ends in exactly one outcome. Also the notices that user space gets through the ring. */
#ifndef STEELYARD_COUNT_H
#define STEELYARD_COUNT_H

#include "cursor.h"

INLINE void count_server(const struct cursor *c, __u32 outcome)
{
	struct server_count *row = entry(server_counts, c->server);

	if (!row)
		return;
	outcome &= SERVER_OUTCOMES - 1;
	if (c->family == 6)
		row->packets6[outcome]++;
	else
		row->packets4[outcome]++;
	if (outcome == FORWARDED || outcome == COLLOCATED)
		row->bytes_in += c->length;
	else if (outcome == RETURNED)
		row->bytes_out += c->length;
}

INLINE void count_service(const struct cursor *c, __u32 outcome)
{
	struct service_count *row = entry(service_counts, c->service);
	__u32 at = outcome - SERVER_OUTCOMES;

	if (!row || at >= SERVICE_OUTCOMES)
		return;
	if (c->family == 6)
		row->packets6[at]++;
	else
		row->packets4[at]++;
}

/* A part of a TCP header that was taken out; the packet goes on. */
INLINE void count_cleared(const struct cursor *c, __u32 field)
{
	struct service_count *row = entry(service_counts, c->service);

	if (row)
		row->cleared[field & (TCP_FIELDS - 1)]++;
}

INLINE void count_plane(const struct cursor *c, __u32 outcome)
{
	struct plane_count *row = entry(plane_counts, 0);
	__u32 at = outcome - SERVER_OUTCOMES - SERVICE_OUTCOMES;

	if (!row || at >= PLANE_OUTCOMES)
		return;
	if (c->family == 6)
		row->packets6[at]++;
	else if (c->family == 4)
		row->packets4[at]++;
	else
		row->others[at]++;
}

/* Ends the packet's walk: counts it once and gives the verdict. */
INLINE int end(const struct cursor *c, __u32 outcome, int verdict)
{
	if (outcome < SERVER_OUTCOMES)
		count_server(c, outcome);
	else if (outcome < SERVER_OUTCOMES + SERVICE_OUTCOMES)
		count_service(c, outcome);
	else
		count_plane(c, outcome);
	return verdict;
}

#define drop(c, outcome) end(c, outcome, XDP_DROP)

/* Notices of one kind in one tick. */
#define NOTICES_LIMIT 64

GLOBAL int send_event(struct cursor *c, __u32 event, __u32 ifindex, const struct addr *about)
{
	struct event_tick *rate = entry(event_ticks, event);
	struct plane_count *plane = entry(plane_counts, 0);
	struct notice *notice;

	if (!rate || !plane || !c || !about)
		return 0;
	if (rate->tick != c->tick) {
		rate->tick = c->tick;
		rate->told = 0;
	}
	if (__sync_fetch_and_add(&rate->told, 1) >= NOTICES_LIMIT) {
		plane->events_lost++;
		return 0;
	}
	notice = bpf_ringbuf_reserve(&events, sizeof(*notice), 0);
	if (!notice) {
		plane->events_lost++;
		return 0;
	}
	notice->event = event;
	notice->service = c->service;
	notice->server = c->server;
	notice->ifindex = ifindex;
	copy16((struct addr *)notice->addr, about);
	bpf_ringbuf_submit(notice, 0);
	return 1;
}

#endif
