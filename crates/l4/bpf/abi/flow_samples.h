/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What the datapath writes down of the connections that it watches; see abi.h for the language. */
#ifndef STEELYARD_FLOW_SAMPLES_ABI_H
#define STEELYARD_FLOW_SAMPLES_ABI_H

#include "words.h"

/// Entries of `watched`: sets of four.
#define WATCHED_LIMIT 16384
/// Ticks without a packet after which a connection that nobody ended gives way to another: 64 s.
#define WATCHED_IDLE 239
/// Ticks after its end in which a connection's last packets are still waited for.
#define WATCHED_ENDING 4
/// Nanoseconds within which a gap that is filled counts as packets in another order, where no round trip is known: 3 ms.
#define REORDERED_NS 3000000

/// Directions, and the sides that send in them.
enum side {
	/// The client, and what it sends.
	CLIENT_SIDE = 0,
	/// The server, and what it sends; seen with `nat` alone.
	SERVER_SIDE = 1,
};

/// `watch.flags`: its first packet was not its SYN.
#define WATCH_LATE 1
/// `watch.flags`: both directions come through here.
#define WATCH_BOTH 2
/// `watch.flags`: nothing more is expected.
#define WATCH_ENDED 4
/// `watch.flags`: the client has said FIN.
#define WATCH_CLIENT_FIN 8
/// `watch.flags`: the server has said FIN.
#define WATCH_SERVER_FIN 16
/// `watch.flags`: the server answered the SYN with a reset.
#define WATCH_REFUSED 32

/// A window of `watch.low` is as usual.
#define WINDOW_OPEN 0
/// It is closed.
#define WINDOW_ZERO 1
/// It is smaller than a segment.
#define WINDOW_SILLY 2
/// `watch.shift`: the side's scale is not known.
#define SHIFT_UNKNOWN 255
/// `watch.shift`: the side's SYN had no scale, so that there is none.
#define SHIFT_NONE 254

/// Value of `watched`: a connection that is watched. Of each pair the first is what the client sends or says, the
/// second the server. Counters only grow while `born` stays.
struct watch {
	/// Hash of the connection as its client sees it; 0 is free, 1 is being filled in.
	__u64 fingerprint;
	/// When its first packet was seen, ns.
	__u64 born;
	__u8 client[16];
	__be16 client_port;
	/// The service's port, as the client knows it.
	__be16 port;
	__u32 service;
	__u32 server;
	/// `WATCH_…`.
	__u32 flags;
	/// Tick of its last packet.
	__u32 tick;
	/// The number of the client's SYN.
	__u32 isn;
	/// When the first and the last SYN were seen, ns.
	__u64 syn[2];
	/// When the server's first and last SYN-ACK were seen.
	__u64 syn_ack[2];
	/// When the client's first packet after that was seen; without both directions: after its SYN.
	__u64 ack;
	/// When the last packet with data, a SYN or a FIN was seen.
	__u64 sent[2];
	/// When the gap was first seen.
	__u64 gap_at[2];
	/// Since when the window is what `low` says.
	__u64 low_at[2];
	/// How long the window stood closed, ns.
	__u64 zero_ns[2];
	/// How long it stood smaller than a segment.
	__u64 silly_ns[2];
	/// How long it was silent before what repairs a loss.
	__u64 loss_ns[2];
	/// The number after the highest that was sent.
	__u32 next[2];
	/// A gap in what was sent, from here…
	__u32 gap_from[2];
	/// … to before here; equal where there is none.
	__u32 gap_to[2];
	/// Packets.
	__u32 packets[2];
	/// SYNs.
	__u32 syns[2];
	/// Packets with what had been sent before: lost after us, or sent again without need.
	__u32 again[2];
	/// Packets that fill a gap late: lost before us.
	__u32 filled[2];
	/// Packets that fill a gap at once: they came in another order.
	__u32 reordered[2];
	/// Packets that close the window.
	__u32 zero[2];
	/// Packets that say a window smaller than a segment.
	__u32 silly[2];
	/// Resets.
	__u32 resets[2];
	/// The largest segment that the side takes; 0: not known.
	__u16 mss[2];
	/// The window's scale that its SYN announced, or `SHIFT_…`.
	__u8 shift[2];
	/// `WINDOW_…`.
	__u8 low[2];
};

/// Value of `watch_counts`, per CPU, one entry.
struct watch_count {
	/// Connections that were begun to be watched.
	__u64 begun;
	/// Drawn, and not watched: every entry of its set was in use.
	__u64 full;
	/// Given up for another after `WATCHED_IDLE`, though nobody had ended them.
	__u64 evicted;
	/// Given up before user space had read them: their ends began another connection.
	__u64 unread;
};

#endif
