/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The packet plane's walk, from top to bottom: parse, find the service, guard, find or choose the server, forward,
 * count. Each verb has its header; this file only calls them in order. */
#include "tenant.h"
#include "mac.h"
#include "service.h"

INLINE void read_clock(const struct config *k, struct cursor *c)
{
	c->ns = k->clock_ns ? k->clock_ns : bpf_ktime_get_coarse_ns();
	c->tick = c->ns >> TICK_SHIFT;
}

INLINE int serve(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	struct service *service = entry(services, c->service);
	struct server *server;
	int done;

	if (unlikely(!service))
		return drop(c, NO_CONFIGURATION);
	if (unlikely(service->flags & (SERVICE_GUARDS | SERVICE_ALLOW_ONLY) || k->flags & CONFIG_GUARDS)) {
		done = let_in(c, service->flags, k->flags);
		if (done != GO_ON)
			return done;
	}
	if (unlikely(service->flags & SERVICE_SOURCES || service->cost[METER_BYTES] || service->cost[METER_RST])) {
		done = slow_down(c, service);
		if (done != GO_ON)
			return done;
	}
	if (service->method == HOST)
		return end(c, PROXIED, PASS_ON);
	done = direct(c, k, service);
	if (unlikely(done != GO_ON))
		return done;
	server = entry(servers, c->server);
	if (unlikely(!server))
		return drop(c, NO_CONFIGURATION);
	return mac(ctx, c, server);
}

INLINE int walk(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	int done = parse(ctx, c);

	if (unlikely(done != GO_ON))
		return done;
	if (unlikely(c->marks & LATER_FRAGMENT || (c->proto != IPPROTO_TCP && c->proto != IPPROTO_UDP)))
		return end(c, NOT_OURS, PASS_ON);
	c->service = service_of(c, &c->dst, c->dport, k->flags);
	if (c->service != NONE)
		return serve(ctx, c, k);
	return end(c, NOT_OURS, PASS_ON);
}

SEC("xdp.frags")
int balance(struct xdp_md *ctx)
{
	struct cursor c = { .service = NONE, .server = NONE, .record = NONE };
	struct config *k = entry(config, 0);
	struct plane_count *plane = entry(plane_counts, 0);
	int verdict;

	if (!k || !plane)
		return XDP_ABORTED;
	plane->received++;
	read_clock(k, &c);
	verdict = walk(ctx, &c, k);
	if (verdict == PASS_ON)
		return pass_on(ctx, SLOT_BALANCE + 1);
	return verdict;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
