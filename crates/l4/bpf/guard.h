/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Who may come in, and how fast: allow and deny lists, bans, rates and caps by service and by client. */
#ifndef STEELYARD_GUARD_H
#define STEELYARD_GUARD_H

#include "count.h"
#include "per_client.h"
#include "pick.h"

INLINE int lookup_guard(struct cursor *c, __u32 scope)
{
	struct guard_key key = { .prefix = 160, .scope = bpf_htonl(scope) };
	struct guard_value *found;

	copy16((struct addr *)key.addr, &c->src);
	found = bpf_map_lookup_elem(&guards, &key);
	if (!found)
		return -1;
	if (found->action == GUARD_BAN && (__s32)(found->until - c->tick) <= 0)
		return -1;
	return found->action;
}

/* Lists and bans, for each packet of a client. The service's own entry goes before the one for all. */
GLOBAL int check_access_lists(struct cursor *c, __u32 flags, __u32 all)
{
	int result = -1;

	if (!c)
		return XDP_DROP;
	if (flags & SERVICE_GUARDS)
		result = lookup_guard(c, c->service);
	if (result < 0 && all & CONFIG_GUARDS)
		result = lookup_guard(c, SCOPE_ALL);
	if (result == GUARD_DENY || (result < 0 && flags & SERVICE_ALLOW_ONLY))
		return drop(c, DENIED);
	if (result == GUARD_BAN)
		return drop(c, BANNED);
	return GO_ON;
}

INLINE __u64 cost_of(const struct cursor *c, __u64 cost, __u32 meter)
{
	return meter == METER_BYTES ? cost * c->length >> 10 : cost;
}

INLINE void source_key(struct cursor *c, const struct service *service, struct source *key)
{
	struct addr network = { { 0 } };

	key->service = c->service;
	masked(&network, &c->src, service->source_mask4, service->source_mask6);
	copy16((struct addr *)key->addr, &network);
}

/* A client went above a limit of its own. Bans have a table of their own, so that a flood of others pushes none out. */
INLINE void ban(struct cursor *c, const struct service *service)
{
	struct source key;
	__u32 until = c->tick + service->ban;

	if (!service->ban)
		return;
	source_key(c, service, &key);
	bpf_map_update_elem(&bans, &key, &until, BPF_ANY);
}

INLINE int banned(struct cursor *c, const struct source *key)
{
	__u32 *until = bpf_map_lookup_elem(&bans, key);

	return until && (__s32)(*until - c->tick) > 0;
}

/* One limit of the service and the same of one client, in this order. */
INLINE int metered(struct cursor *c, const struct service *service, struct source_use *use, __u32 meter,
		   __u32 outcome, __u32 source_outcome)
{
	struct used *used = entry(meters, c->service);

	if (service->cost[meter] && used &&
	    !take_from_rate(&used->until[meter], c->ns, cost_of(c, service->cost[meter], meter), service->burst[meter]))
		return drop(c, outcome);
	if (use && service->source_cost[meter] &&
	    !take_from_rate(&use->used[meter], c->ns, cost_of(c, service->source_cost[meter], meter),
		    service->source_burst[meter])) {
		ban(c, service);
		return drop(c, source_outcome);
	}
	return GO_ON;
}

INLINE struct source_use *source_of(const struct source *key)
{
	struct source_use none = { 0 }, *use;

	use = bpf_map_lookup_elem(&sources, key);
	if (use)
		return use;
	bpf_map_update_elem(&sources, key, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&sources, key);
}

/* Bans that were earned, and rates that every packet of a client counts for: bytes and resets. */
GLOBAL int check_source_rates(struct cursor *c, const struct service *service)
{
	struct source_use *use = NULL;
	struct source key = { 0 };
	int done;

	if (!c || !service)
		return XDP_DROP;
	if (service->flags & (SERVICE_SOURCES | SERVICE_BANS))
		source_key(c, service, &key);
	if (service->flags & SERVICE_BANS && banned(c, &key))
		return drop(c, BANNED);
	if (service->flags & SERVICE_SOURCES)
		use = source_of(&key);
	if (is_tcp(c) && c->tcp & RST) {
		done = metered(c, service, use, METER_RST, RST_RATE, SOURCE_RST_RATE);
		if (done != GO_ON)
			return done;
	}
	return metered(c, service, use, METER_BYTES, BANDWIDTH_CAP, SOURCE_BANDWIDTH_CAP);
}

/* SYNs in one tick whose clients user space is told of: half of what a tick may tell, so that none counts as lost. */
#define SYN_SAMPLES 32

/* Whether another client may be told of in this tick. */
INLINE int may_sample_syn(const struct cursor *c)
{
	struct event_tick *rate = entry(event_ticks, EVENT_HALF_OPEN);

	return rate && (rate->tick != c->tick || rate->told < SYN_SAMPLES);
}

/* Whether too many connections are half-open. User space raises the alarm, and gets samples of who comes before it. */
INLINE int exceeds_half_open_limit(struct cursor *c, const struct service *service, struct gauge *gauge)
{
	__s32 half_open = gauge->half_open + gauge->new_half_open;

	if (service->half_open_alarm && half_open * 2 >= (__s32)service->half_open_alarm && is_tcp(c) &&
	    c->tcp & SYN && may_sample_syn(c)) {
		gauge->alarm_tick = c->tick;
		send_event(c, EVENT_HALF_OPEN, half_open, &c->src);
	}
	return service->half_open_limit && half_open >= (__s32)service->half_open_limit;
}

/* What a new connection must pass: rates, caps, and the half-open limit. */
GLOBAL int admit(const struct config *k, struct cursor *c, const struct service *service)
{
	struct source_use *use = NULL;
	struct source key = { 0 };
	struct gauge *gauge;
	int done;

	if (!k || !c || !service)
		return XDP_DROP;
	gauge = entry(gauges, c->service);
	if (!gauge)
		return drop(c, NO_CONFIGURATION);
	if (service->flags & SERVICE_SOURCES) {
		source_key(c, service, &key);
		use = source_of(&key);
	}
	/* A connection that comes with a cookie counted when it got it. */
	if (!(c->marks & WITH_COOKIE)) {
		done = metered(c, service, use, METER_SYN, SYN_RATE, SOURCE_SYN_RATE);
		if (done != GO_ON)
			return done;
	}
	if (service->connections && gauge->flows + gauge->new_flows >= service->connections && is_sweeper_alive(k, c))
		return drop(c, CONNECTION_CAP);
	if (exceeds_half_open_limit(c, service, gauge) && is_tcp(c) && is_sweeper_alive(k, c)) {
		done = metered(c, service, NULL, METER_HALF_OPEN, HALF_OPEN_LIMIT, HALF_OPEN_LIMIT);
		if (done != GO_ON)
			return done;
	}
	return GO_ON;
}

/* Ends the walk of a connection that is one more than its client may have. */
GLOBAL int over_cap(struct cursor *c, const struct service *service)
{
	if (!c || !service)
		return XDP_DROP;
	ban(c, service);
	return drop(c, SOURCE_CONNECTION_CAP);
}

/* All that a new connection must pass; what one client has is counted last, when nothing else stands against it. */
INLINE int admit_and_count(const struct config *k, struct cursor *c, const struct service *service)
{
	int done = admit(k, c, service);

	if (done == GO_ON && unlikely(service->source_connections) && !count_client_connection(k, c, service))
		return over_cap(c, service);
	return done;
}

#endif
