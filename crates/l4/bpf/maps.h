/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* Every map of the packet plane. What each means and who writes it is told in README.md. */
#ifndef STEELYARD_MAPS_H
#define STEELYARD_MAPS_H

#include "abi.h"

#define ARRAY(name, value_type, entries, flags)         \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY);       \
		__uint(max_entries, entries);           \
		__uint(map_flags, flags);               \
		__type(key, __u32);                     \
		__type(value, value_type);              \
	} name SEC(".maps")

#define HASH(name, kind, key_type, value_type, entries, flags) \
	struct {                                        \
		__uint(type, kind);                     \
		__uint(max_entries, entries);           \
		__uint(map_flags, flags);               \
		__type(key, key_type);                  \
		__type(value, value_type);              \
	} name SEC(".maps")

#define PER_CPU(name, value_type, entries)              \
	struct {                                        \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); \
		__uint(max_entries, entries);           \
		__type(key, __u32);                     \
		__type(value, value_type);              \
	} name SEC(".maps")

ARRAY(config, struct config, 1, 0);
HASH(vips4, BPF_MAP_TYPE_HASH, struct vip4, struct vip, 65536, BPF_F_NO_PREALLOC);
HASH(vips6, BPF_MAP_TYPE_HASH, struct vip6, struct vip, 65536, BPF_F_NO_PREALLOC);
HASH(addresses, BPF_MAP_TYPE_HASH, struct address, __u32, 65536, BPF_F_NO_PREALLOC);
HASH(holds, BPF_MAP_TYPE_HASH, struct address, __u64, 16384, BPF_F_NO_PREALLOC);
ARRAY(services, struct service, 4096, 0);
ARRAY(gauges, struct gauge, 4096, 0);
ARRAY(meters, struct used, 4096, 0);
ARRAY(pools, struct pool, 8192, 0);
ARRAY(turns, __u32, 8192, 0);
ARRAY(schedule, __u32, 1 << 20, 0);
ARRAY(servers, struct server, 16384, 0);
ARRAY(next_hops, struct next_hop, 4096, 0);
ARRAY(paths, struct path, 4096, 0);
ARRAY(learned, struct next_hop, LEARNED_LIMIT, 0);
HASH(shares4, BPF_MAP_TYPE_HASH, struct share4, __u32, 65536, BPF_F_NO_PREALLOC);
HASH(shares6, BPF_MAP_TYPE_HASH, struct share6, __u32, 65536, BPF_F_NO_PREALLOC);
ARRAY(shares, struct share, 16384, 0);
ARRAY(share_list, __u32, 65536, 0);
ARRAY(hands, struct hand, 16384, BPF_F_MMAPABLE);
ARRAY(records, struct record, 1 << 17, BPF_F_MMAPABLE);
ARRAY(forward, struct bucket, 1 << 17, BPF_F_MMAPABLE);
ARRAY(announced, struct announced, 1 << 16, 0);
ARRAY(record_owners, struct owners, 1 << 15, BPF_F_MMAPABLE);
ARRAY(flows, struct bucket, 1 << 16, BPF_F_MMAPABLE);
ARRAY(flow_owners, struct owners, 1 << 16, BPF_F_MMAPABLE);
ARRAY(per_client, struct bucket, 1 << 15, BPF_F_MMAPABLE);
ARRAY(sticky, struct bucket, 1 << 12, BPF_F_MMAPABLE);
ARRAY(flows_changed, __u64, 1 << 12, BPF_F_MMAPABLE);
ARRAY(records_changed, __u64, 1 << 11, BPF_F_MMAPABLE);
ARRAY(sticky_changed, __u64, 1 << 8, BPF_F_MMAPABLE);
HASH(fragments, BPF_MAP_TYPE_LRU_HASH, struct fragment, struct fate, 4096, 0);
HASH(guards, BPF_MAP_TYPE_LPM_TRIE, struct guard_key, struct guard_value, 65536, BPF_F_NO_PREALLOC);
HASH(sources, BPF_MAP_TYPE_LRU_HASH, struct source, struct source_use, 65536, 0);
HASH(bans, BPF_MAP_TYPE_LRU_HASH, struct source, __u32, 65536, 0);
ARRAY(rules, struct rule, 8192, 0);
ARRAY(rule_used, __u64, 8192, 0);
HASH(interfaces, BPF_MAP_TYPE_HASH, __u32, struct interface, 256, 0);
ARRAY(watched, struct watch, WATCHED_LIMIT, BPF_F_MMAPABLE);
PER_CPU(watch_counts, struct watch_count, 1);
PER_CPU(server_counts, struct server_count, 16384);
PER_CPU(service_counts, struct service_count, 4096);
PER_CPU(plane_counts, struct plane_count, 1);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 21);
} oversized SEC(".maps");

ARRAY(fragmenter, __u32, 1, 0);
ARRAY(handed, struct event_tick, 1, 0);
ARRAY(event_ticks, struct event_tick, 8, 0);
ARRAY(replies, struct event_tick, 1, 0);

/* The entry of an array map, or NULL beyond its end. */
#define entry(map, index)                                 \
	({                                                \
		__u32 key_ = (index);                     \
		bpf_map_lookup_elem(&(map), &key_);       \
	})

#endif
