/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The packet plane's walk, from top to bottom: parse, find the service, guard, find or choose the server, forward,
 * count. Each verb has its header; this file only calls them in order. */
#include "tenant.h"
#include "frag.h"
#include "icmp.h"

int errors(struct xdp_md *ctx);
int cookies(struct xdp_md *ctx);

#define PART_ERRORS 0
#define PART_COOKIES 1

/* Programs that the walk goes on in, with a stack of their own. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__array(values, int(struct xdp_md *));
} parts SEC(".maps") = { .values = { [PART_ERRORS] = &errors, [PART_COOKIES] = &cookies } };

INLINE void read_clock(const struct config *k, struct cursor *c)
{
	c->ns = k->clock_ns ? k->clock_ns : bpf_ktime_get_coarse_ns();
	c->tick = c->ns >> TICK_SHIFT;
}

/* A client's packet to its server. */
INLINE int forward_to_server(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct service *service)
{
	struct server *server = entry(servers, c->server);

	if (unlikely(!server))
		return drop(c, NO_CONFIGURATION);
	if (unlikely(server->flags & SERVER_RESETS && !(server->flags & SERVER_SERVES) && is_tcp(c)))
		return reset(ctx, c);
	if (unlikely(c->marks & FIRST_FRAGMENT))
		store_fragment_fate(c, FORWARDED);
	if (service->method == MAC)
		return mac(ctx, c, server);
	if (service->method == NAT)
		return nat_out(ctx, c, server);
	return tunnel(ctx, c, k, server, FORWARDED);
}

/* Guards, and what the service takes of TCP headers. */
INLINE int check_entry(struct xdp_md *ctx, struct cursor *c, const struct config *k, const struct service *service)
{
	int done;

	if (unlikely(service->flags & (SERVICE_GUARDS | SERVICE_ALLOW_ONLY) || k->flags & CONFIG_GUARDS)) {
		done = check_access_lists(c, service->flags, k->flags);
		if (done != GO_ON)
			return done;
	}
	if (unlikely(service->flags & (SERVICE_SOURCES | SERVICE_BANS) || service->cost[METER_BYTES] ||
		     service->cost[METER_RST])) {
		done = check_source_rates(c, service);
		if (done != GO_ON)
			return done;
	}
	if (unlikely(service->normalize) && is_tcp(c))
		return normalize(ctx, c, service->normalize);
	return GO_ON;
}

INLINE int handle_client_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	struct service *service = entry(services, c->service);
	int done;

	if (unlikely(!service))
		return drop(c, NO_CONFIGURATION);
	if (gated(k, service, &c->dst))
		return drop(c, GATE_SHUT);
	if (unlikely(service->flags & SERVICE_COOKIES) && is_tcp(c) && needs_cookie_path(k, c, service))
		bpf_tail_call_static(ctx, &parts, PART_COOKIES);
	done = check_entry(ctx, c, k, service);
	if (unlikely(done != GO_ON))
		return done;
	if (unlikely(service->method == HOST)) {
		if (c->marks & FIRST_FRAGMENT)
			store_fragment_fate(c, NOT_OURS);
		if (opens(c)) {
			done = admit(k, c, service);
			if (done != GO_ON)
				return done;
		}
		return end(c, PROXIED, PASS_ON);
	}
	if (unlikely(service->flags & SERVICE_LINK_SOURCE))
		read_link_source(ctx, c);
	done = service->method == NAT ? find_record(ctx, c, k, service) : find_or_start_flow(c, k, service);
	if (unlikely(done == GO_ON && needs_segment_check(c, service)))
		done = check_segment(ctx, c, service, CLIENT_SEGMENT);
	if (unlikely(done != GO_ON))
		return done;
	if (unlikely(c->tcp & SYN && service->mss))
		clamp(ctx, c, service->mss);
	sample_packet(ctx, c, k, CLIENT_SIDE);
	return forward_to_server(ctx, c, k, service);
}

/* Fragments after the first. */
INLINE int handle_later_fragment(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	int verdict = XDP_DROP, outcome = find_fragment_fate(c, &verdict);
	struct service *service;
	struct record *record;

	if (outcome < 0)
		return verdict;
	service = entry(services, c->service);
	if (!service)
		return drop(c, NO_CONFIGURATION);
	if (outcome == RETURNED) {
		record = entry(records, c->record);
		if (!record)
			return drop(c, NO_CONFIGURATION);
		return gated(k, service, record->addr) ? drop(c, GATE_SHUT) : nat_back(ctx, c);
	}
	return gated(k, service, &c->dst) ? drop(c, GATE_SHUT) : forward_to_server(ctx, c, k, service);
}

/* Whether a frame is for one machine: no service of every address takes broadcasts. */
INLINE int is_to_one(struct xdp_md *ctx)
{
	__u8 *link = bytes_at(ctx, 0, L3_MASK, 14);

	return link && !(link[0] & 1);
}

INLINE int process_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	int done = parse(ctx, c);

	if (unlikely(done != GO_ON))
		return done;
	if (unlikely(c->marks & LATER_FRAGMENT))
		return handle_later_fragment(ctx, c, k);
	if (unlikely(c->proto != IPPROTO_TCP && c->proto != IPPROTO_UDP)) {
		if (c->marks & FIRST_FRAGMENT)
			store_fragment_fate(c, NOT_OURS);
		if (c->proto == (c->family == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
			bpf_tail_call_static(ctx, &parts, PART_ERRORS);
		return end(c, NOT_OURS, PASS_ON);
	}
	c->service = named_service(c, &c->dst, c->dport, k->flags);
	if (likely(c->service != NONE))
		return handle_client_packet(ctx, c, k);
	if (k->flags & CONFIG_NAT) {
		done = handle_server_packet(ctx, c, k);
		if (done == GO_ON) {
			if (c->marks & FIRST_FRAGMENT)
				store_fragment_fate(c, RETURNED);
			return nat_back(ctx, c);
		}
		if (done != PASS_ON)
			return done;
		c->record = NONE;
	}
	if (unlikely(k->flags & CONFIG_ANY_ADDRESS) && is_to_one(ctx)) {
		c->service = any_address_service(c, &c->dst, c->dport);
		if (c->service != NONE)
			return handle_client_packet(ctx, c, k);
	}
	if (unlikely(c->marks & FIRST_FRAGMENT))
		store_fragment_fate(c, NOT_OURS);
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
	verdict = process_packet(ctx, &c, k);
	if (verdict == PASS_ON)
		return pass_on(ctx, SLOT_BALANCE + 1);
	return verdict;
}

/* The cursor of a part, with the packet read again. */
INLINE int read_again(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	__builtin_memset(c, 0, sizeof(*c));
	c->service = c->server = c->record = NONE;
	read_clock(k, c);
	return parse(ctx, c);
}

/* The walk of an ICMP packet. */
SEC("xdp.frags")
int errors(struct xdp_md *ctx)
{
	struct quoted *q = entry(quotes, 0);
	struct config *k = entry(config, 0);
	int verdict;

	if (!k || !q)
		return XDP_ABORTED;
	verdict = read_again(ctx, &q->own, k);
	if (verdict == GO_ON)
		verdict = icmp(ctx, &q->own, q, k);
	if (verdict == PASS_ON)
		return pass_on(ctx, SLOT_BALANCE + 1);
	return verdict;
}

/* A client's packet to a service that gives cookies. */
INLINE int handle_cookie_packet(struct xdp_md *ctx, struct cursor *c, const struct config *k)
{
	struct service *service;
	struct server *server;
	int done;

	c->service = service_of(c, &c->dst, c->dport, k->flags);
	service = entry(services, c->service);
	if (!service)
		return drop(c, NO_CONFIGURATION);
	done = check_entry(ctx, c, k, service);
	if (done != GO_ON)
		return done;
	if (service->flags & SERVICE_LINK_SOURCE)
		read_link_source(ctx, c);
	if (!is_known(c, k)) {
		if (opens(c))
			return send_syn_cookie(ctx, c, k, service);
		accept_syn_cookie(ctx, c, k);
	}
	done = find_record(ctx, c, k, service);
	if (done == GO_ON && needs_segment_check(c, service))
		done = check_segment(ctx, c, service, CLIENT_SEGMENT);
	if (done != GO_ON)
		return done;
	if (c->tcp & SYN && service->mss)
		clamp(ctx, c, service->mss);
	sample_packet(ctx, c, k, CLIENT_SIDE);
	server = entry(servers, c->server);
	if (!server)
		return drop(c, NO_CONFIGURATION);
	if (server->flags & SERVER_RESETS && !(server->flags & SERVER_SERVES))
		return reset(ctx, c);
	return nat_out(ctx, c, server);
}

/* The walk of packets that may open a connection by a cookie. */
SEC("xdp.frags")
int cookies(struct xdp_md *ctx)
{
	struct quoted *q = entry(quotes, 0);
	struct config *k = entry(config, 0);
	int verdict;

	if (!k || !q)
		return XDP_ABORTED;
	verdict = read_again(ctx, &q->own, k);
	if (verdict == GO_ON)
		verdict = handle_cookie_packet(ctx, &q->own, k);
	if (verdict == PASS_ON)
		return pass_on(ctx, SLOT_BALANCE + 1);
	return verdict;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
