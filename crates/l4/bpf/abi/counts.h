/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* What the datapath tells: notices and counters; see abi.h for the language. */
#ifndef STEELYARD_COUNTS_H
#define STEELYARD_COUNTS_H

#include "words.h"

/// What the ring `events` carries.
struct notice {
	/// `enum event`.
	__u32 event;
	__u32 service;
	__u32 server;
	__u32 ifindex;
	__u8 addr[16];
};

/// Value of `event_ticks`, by event, and of `replies`: how many were told in this tick. The datapath's own.
struct event_tick {
	__u32 tick;
	__u32 told;
};

/// Value of `server_counts`, per CPU.
struct server_count {
	/// IPv4 packets by outcome.
	__u64 packets4[16];
	/// IPv6 packets by outcome.
	__u64 packets6[16];
	/// Bytes of packets to the server.
	__u64 bytes_in;
	/// Bytes of packets to clients.
	__u64 bytes_out;
	/// Connections that chose this server.
	__u64 flows;
	/// Of these, how many chose without a SYN because no record was there.
	__u64 adopted;
};

/// Value of `service_counts`, per CPU.
struct service_count {
	/// IPv4 packets by outcome less `SERVER_OUTCOMES`.
	__u64 packets4[32];
	/// IPv6 packets by outcome less `SERVER_OUTCOMES`.
	__u64 packets6[32];
	/// Parts of TCP headers that were taken out, by `enum tcp_field`.
	__u64 cleared[8];
};

/// Value of `plane_counts`, per CPU, one entry.
struct plane_count {
	/// Every packet that arrived.
	__u64 received;
	/// IPv4 packets by outcome less `SERVER_OUTCOMES + SERVICE_OUTCOMES`.
	__u64 packets4[24];
	/// IPv6 packets.
	__u64 packets6[24];
	/// Other packets.
	__u64 others[24];
	/// Events that the ring had no room for, or that came too fast.
	__u64 events_lost;
	/// Living connections given up for new ones in `flows`.
	__u64 evicted;
};

#endif
