/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Fragments: the first one has the ports and decides; the later ones, known by addresses and number, follow it. */
#ifndef STEELYARD_FRAG_H
#define STEELYARD_FRAG_H

#include "count.h"

/* Ticks that a fate holds: 30 s, as long as hosts wait (RFC 791 §3.2 says at least 15). */
#define FATE_TICKS 112

INLINE void fragment_key(const struct cursor *c, struct fragment *key)
{
	copy16((struct addr *)key->from, &c->src);
	copy16((struct addr *)key->to, &c->dst);
	key->id = c->fragment_id;
	key->proto = c->proto;
}

/* Remembers what became of a first fragment. */
GLOBAL int store_fragment_fate(struct cursor *c, __u32 outcome)
{
	struct fragment key;
	struct fate fate = { .outcome = outcome };

	if (!c)
		return 0;
	fragment_key(c, &key);
	fate.service = c->service;
	fate.server = c->server;
	fate.record = c->record;
	fate.deadline = c->tick + FATE_TICKS;
	return bpf_map_update_elem(&fragments, &key, &fate, BPF_ANY) == 0;
}

/* Puts a later fragment where its first one is: `FORWARDED` or `RETURNED`, or the end of its walk below zero. */
GLOBAL int find_fragment_fate(struct cursor *c, int *verdict)
{
	struct fragment key;
	struct fate *fate;
	__u32 *ours;

	if (!c || !verdict)
		return -1;
	fragment_key(c, &key);
	fate = bpf_map_lookup_elem(&fragments, &key);
	if (!fate || (__s32)(fate->deadline - c->tick) <= 0) {
		ours = bpf_map_lookup_elem(&addresses, key.to);
		*verdict = ours && *ours & (ADDRESS_SERVICE | ADDRESS_RETURN) ? drop(c, FRAGMENT_UNKNOWN) : end(c, NOT_OURS, PASS_ON);
		return -1;
	}
	if (fate->outcome == NOT_OURS) {
		*verdict = end(c, NOT_OURS, PASS_ON);
		return -1;
	}
	c->service = fate->service;
	c->server = fate->server;
	c->record = fate->record;
	return fate->outcome;
}

#endif
