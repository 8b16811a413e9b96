/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The keys and values of maps that the datapath and user space share; see abi.h for the language. */
#ifndef STEELYARD_SHAPES_H
#define STEELYARD_SHAPES_H

#include "words.h"

/// Map `config`, one entry. Written by the loader at the first load; `flags` by user space last of all.
struct config {
	/// A fixed time in ns for tests; 0 is the kernel's clock.
	__u64 clock_ns;
	/// Keys of the hash of the flow tables; random, kept as long as the tables.
	__u64 secret[4];
	/// Buckets of `flows` less 1.
	__u32 flow_mask;
	/// Buckets of `sticky` less 1.
	__u32 sticky_mask;
	/// Buckets of `forward` less 1.
	__u32 forward_mask;
	/// `CONFIG_…`.
	__u32 flags;
	/// Buckets of `per_client` less 1.
	__u32 per_client_mask;
	/// Tick of the last sweep; written by user space.
	__u32 swept;
	/// Of 2^31 connections so many are watched; 0 for none. Written by user space, which empties `watched` then.
	__u32 insight;
	/// Interfaces with `INTERFACE_REFUSES`; written by user space.
	__u32 refusing;
};

/// Key of `vips4`. `port` 0: any port; `addr` 0: any address.
struct vip4 {
	/// In network order.
	__u8 addr[4];
	__be16 port;
	/// 6 or 17.
	__u8 proto;
	__u8 pad;
};

/// Key of `vips6`.
struct vip6 {
	__u8 addr[16];
	__be16 port;
	/// 6 or 17.
	__u8 proto;
	__u8 pad;
};

/// Value of `vips4` and `vips6`.
struct vip {
	/// Index of the service; `NONE` where only ranges are services.
	__u32 service;
	/// Ranges in use; only looked at under an any-port key.
	__u32 ranges;
	/// First ports of the ranges.
	__u16 from[8];
	/// Last ports of the ranges.
	__u16 to[8];
	/// Services of the ranges.
	__u32 owner[8];
};

/// Key of `addresses`: an address of some service, a return address, or this host's own. The value is `ADDRESS_…`.
struct address {
	__u8 addr[16];
};

/// Value of `services`. Costs are ns that one unit takes of its rate, 0 for no limit; bursts are in ns too.
struct service {
	/// `SERVICE_…`.
	__u32 flags;
	/// `enum method`.
	__u32 method;
	/// The pool when no rule decides.
	__u32 pool;
	/// First of its rules in `rules`.
	__u32 rule_first;
	/// How many rules.
	__u32 rule_count;
	/// Ticks that a connection may stay half-open.
	__u32 embryonic;
	/// Ticks after one side's FIN.
	__u32 half_closed;
	/// Ticks after both FIN or a RST: `fin-timeout`.
	__u32 closing;
	/// Idle ticks of an established connection: `idle-timeout`.
	__u32 idle;
	/// Idle ticks of UDP.
	__u32 datagram;
	/// Largest MSS let through in a SYN; 0 leaves it.
	__u32 mss;
	/// Connections at one time; 0 for no limit.
	__u32 connections;
	/// Connections of one client at one time; 0 for no limit.
	__u32 source_connections;
	/// Half-open connections that raise the alarm; 0 for none.
	__u32 half_open_alarm;
	/// Half-open connections beyond which cookies or `METER_HALF_OPEN` act; 0 for none.
	__u32 half_open_limit;
	/// Bits of a client's IPv4 address that make a source.
	__u8 source_mask4;
	/// Bits of a client's IPv6 address that make a source.
	__u8 source_mask6;
	__u16 pad;
	/// Ticks that a client above a limit of its own is banned; 0 for not at all.
	__u32 ban;
	/// `enum tcp_action` of each `enum tcp_field`, two bits each; 0: all stay.
	__u32 normalize;
	/// Costs by `enum meter`; that of bytes is for 1024 bytes.
	__u64 cost[4];
	/// Bursts by `enum meter`.
	__u64 burst[4];
	/// The same for one client: SYN, RST, bytes; the fourth is not used.
	__u64 source_cost[4];
	/// Bursts for one client.
	__u64 source_burst[4];
};

/// Value of `gauges`, by service. The datapath adds; the sweep writes what it counted and clears the rest.
struct gauge {
	/// Connections at the last sweep.
	__u32 flows;
	/// New ones since.
	__u32 new_flows;
	/// Half-open ones at the last sweep.
	__u32 half_open;
	/// Half-open ones that came, less those that went, since; two's complement.
	__u32 new_half_open;
	/// Tick of the last SYN whose client user space was told of.
	__u32 alarm_tick;
	/// Tick of the last SYN cookie.
	__u32 cookie_tick;
};

/// Value of `meters`, by service: times by which each meter is used up, in ns. The datapath's own.
struct used {
	__u64 until[4];
};

/// Value of `pools`.
struct pool {
	/// First entry in `schedule`.
	__u32 first;
	/// Entries; 0 for a pool without servers.
	__u32 length;
	/// `enum choose`.
	__u32 choose;
	/// Ticks that a client stays with its server, renewed by each connection; 0 for off.
	__u32 sticky;
	/// Bits of an IPv4 address that are hashed.
	__u8 mask4;
	/// Bits of an IPv6 address that are hashed.
	__u8 mask6;
	/// Bits of an IPv4 address that stick together.
	__u8 sticky_mask4;
	/// Bits of an IPv6 address that stick together.
	__u8 sticky_mask6;
	/// Number that entries of `sticky` are kept under; the same on machines with the same configuration.
	__u32 sticky_scope;
	/// 1 + the pool that IPv6 clients choose from; 0 where all choose from this one.
	__u32 pool6;
};

/// Value of `servers`: one for each server of each service, so that its counters are of that pair.
struct server {
	__u8 addr[16];
	/// Source address of the tunnel's header, of the server's family.
	__u8 outer[16];
	/// Index of its next hop in `next_hops`.
	__u32 next_hop;
	/// First of its shares in `share_list`.
	__u32 share_first;
	/// How many shares: one a return address.
	__u32 share_count;
	/// Port of the server; 0 keeps the client's.
	__be16 port;
	/// Destination port of GUE.
	__be16 wrap_port;
	/// `SERVER_…`.
	__u8 flags;
	/// `enum wrap`.
	__u8 wrap;
	__u16 pad;
	/// The service that the server's connections belong to.
	__u32 service;
};

/// Value of `next_hops` and of `learned`: how a frame leaves.
struct next_hop {
	/// Link address of the next hop.
	__u8 to[6];
	/// Our link address there.
	__u8 from[6];
	__u32 ifindex;
	/// Largest IP packet; 0 is not checked.
	__u32 mtu;
	/// `NEXT_HOP_…`.
	__u32 state;
};

/// Value of `paths`, by way: what a router on the way to a tunnel's server said of its room.
struct path {
	/// The server: a way may be given to another one.
	__u8 addr[16];
	/// Largest outer packet; 0 when nothing was said.
	__u32 mtu;
	/// Tick until which it is believed.
	__u32 until;
};

/// Key of `shares4`.
struct share4 {
	/// In network order.
	__u8 server[4];
	/// The return address; 0 for a share that keeps the client's.
	__u8 back[4];
	/// The server's port; 0 for a share of all ports.
	__be16 port;
	__u8 proto;
	__u8 pad;
};

/// Key of `shares6`.
struct share6 {
	__u8 server[16];
	/// The return address; 0 for a share that keeps the client's.
	__u8 back[16];
	/// The server's port; 0 for a share of all ports.
	__be16 port;
	__u8 proto;
	__u8 pad;
};

/// Value of `shares`: the ports of one return address towards one server and port.
struct share {
	/// The return address.
	__u8 back[16];
	/// First of its records; consecutive, one a port.
	__u32 first;
	/// How many ports, at most `SHARE_PORTS`.
	__u32 ports;
	/// `SHARE_…`.
	__u32 flags;
	/// 6 or 17: only packets of this protocol use it.
	__u32 proto;
};

/// Value of `hands`, by share: the clock hand, alone on its cache line.
struct hand {
	/// Ports handed out or passed over so far.
	__u64 turn;
	/// Turns among the shares of a server whose first this is.
	__u64 share_turn;
	__u64 pad[6];
};

/// Value of `records`: one translated connection. A cache line.
struct record {
	/// `deadline << 32 | RECORD_… << 16 | proto << 8 | state`; changed by compare-and-swap while it is claimed.
	__u64 word;
	__u8 client[16];
	/// The service's address, as the client knows it.
	__u8 addr[16];
	__be16 client_port;
	/// The service's port, as the client knows it.
	__be16 port;
	__u32 share;
	__u32 server;
	/// Where the client's sequence numbers ended (RFC 9293 §3.6.1).
	__u32 end;
	/// The client's last time stamp (RFC 7323); 0 when it sends none. With `RECORD_COOKIE` the cookie while the record is
	/// embryonic, and then what the client's numbers of the server are above the server's own.
	__u32 stamp;
	/// Way to the client: index into `learned` in the low 12 bits, tick it was asked for above.
	__u32 return_hop;
};

/// Value of `flows`, `forward`, `sticky` and `per_client`: a bucket of entries, one cache line.
/// An entry's `word` is `deadline (24 bits) << 40 | tag (8) << 32 | state (4) << 28 | server (28)`; in `forward` the
/// low 32 bits are the record, in `per_client` how many connections a client has.
struct bucket {
	/// 64-bit keyed hash of the whole key; 0 is free.
	__u64 fingerprint[4];
	__u64 word[4];
};

/// Value of `flow_owners` and `record_owners`: whose each of four entries of `flows` or four records is, for clients
/// that are counted. The low 20 bits are 1 + the entry in `per_client`, 0 for nobody's; above them are bits 40 to 51 of the
/// flow's hash, so that what an earlier flow left is known as such. A record says by `RECORD_OWNED` whether it holds.
struct owners {
	__u32 per_client[4];
};

/// Key of `fragments`.
struct fragment {
	__u8 from[16];
	__u8 to[16];
	__u32 id;
	__u32 proto;
};

/// Value of `fragments`: what was decided for the first one.
struct fate {
	/// `outcome` of the first: `FORWARDED`, `RETURNED`, `COLLOCATED`, or `NOT_OURS`.
	__u32 outcome;
	__u32 service;
	__u32 server;
	/// The record, for nat.
	__u32 record;
	/// Tick until which it holds.
	__u32 deadline;
	__u32 pad;
};

/// Key of `guards`: longest prefix wins. `prefix` counts the 32 bits of the scope too.
struct guard_key {
	__u32 prefix;
	/// In network order: the service, or `SCOPE_ALL`.
	__be32 scope;
	__u8 addr[16];
};

/// Value of `guards`.
struct guard_value {
	/// `enum guard`.
	__u32 action;
	/// Tick at which a ban ends.
	__u32 until;
};

/// Key of `sources` and `bans`.
struct source {
	__u32 service;
	__u8 addr[16];
};

/// Value of `sources`: what one client has used of its rates.
struct source_use {
	/// Times by which each meter is used up, in ns.
	__u64 used[4];
};

/// Value of `rules`: a new connection that fits all conditions takes the pool.
struct rule {
	__u8 client[16];
	__u8 client_mask[16];
	/// The client's ports.
	__u16 client_from;
	__u16 client_to;
	/// The service's ports.
	__u16 port_from;
	__u16 port_to;
	__u8 tos;
	__u8 tos_mask;
	/// `RULE_…`; times of day are switched by user space.
	__u8 flags;
	__u8 pad;
	/// The pool; `NONE` drops.
	__u32 pool;
	/// ns that one new connection takes; beyond it the rule does not fit. 0 for no limit.
	__u64 cost;
	__u64 burst;
};

/// What stands before each packet in the ring `oversized`: how it is wrapped, and its length.
struct oversized {
	/// Ends of the outer packet.
	__u8 outer[16];
	__u8 server[16];
	/// Bytes that an outer packet may have.
	__u32 room;
	/// Bytes of the packet, which follow.
	__u32 length;
	/// What the outer packet shows of the flow: 20 bits.
	__u32 entropy;
	/// GUE's port.
	__be16 wrap_port;
	/// `enum wrap`.
	__u8 wrap;
	__u8 tos;
};

/// Value of `interfaces`, by index.
struct interface {
	/// `INTERFACE_…`.
	__u32 flags;
	/// Its MTU.
	__u32 mtu;
	/// An address of ours to send ICMP errors from, IPv4 mapped; 0 for the service's own.
	__u8 addr4[16];
	/// The same for IPv6.
	__u8 addr6[16];
};

#endif
