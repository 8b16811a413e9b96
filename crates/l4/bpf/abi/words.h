/* SPDX-License-Identifier: (Apache-2.0 OR MIT) */
/* The numbers that the datapath and user space share; see abi.h for the language. */
#ifndef STEELYARD_WORDS_H
#define STEELYARD_WORDS_H

/// Raised by hand when the meaning of a map changes without its form; the form is fingerprinted by itself.
#define ABI_VERSION 4
/// A tick is 2^28 nanoseconds.
#define TICK_SHIFT 28
/// No service, server, pool, share, way or record.
#define NONE 0xffffffff
/// The scope of a guard that holds for every service.
#define SCOPE_ALL 0xffffffff
/// Entries of one bucket of a flow table: one cache line.
#define WAYS_IN_BUCKET 4
/// Ranges of ports under one any-port address.
#define PORT_RANGES 8
/// Rules that one service may have.
#define RULES_LIMIT 32
/// Steps along a schedule past servers that take nothing.
#define PICK_STEPS 64
/// Ports looked at for one new connection before it is refused for want of a port.
#define PORT_STEPS 512
/// Extension headers followed in one IPv6 packet.
#define EXTENSIONS_LIMIT 8
/// The first port of a return address that a share may use.
#define FIRST_PORT 1025
/// Ports of one share: 1025 to 65534.
#define SHARE_PORTS 64510
/// Outcomes counted by server.
#define SERVER_OUTCOMES 16
/// Outcomes counted by service.
#define SERVICE_OUTCOMES 32
/// Outcomes counted for the plane as a whole.
#define PLANE_OUTCOMES 24
/// Ticks after the last sweep that caps on connections still hold: they rest on what it counts.
#define SWEPT_TICKS 40
/// ICMP errors that are sent in one tick (RFC 1812 section 4.3.2.8, RFC 4443 section 2.4).
#define REPLIES_LIMIT 256
/// Packets that are handed to the process in one tick, to be sent on as fragments: about 15,000 a second.
#define FRAGMENTED_LIMIT 4096
/// Ticks after a sign of life of whoever makes fragments in which packets are handed over: two seconds.
#define FRAGMENTER_TICKS 8
/// Bytes of the largest packet that is handed over.
#define OVERSIZED_BYTES 9216
/// Meters of one service, by `enum meter`.
#define METERS 4
/// Learned ways back to clients.
#define LEARNED_LIMIT 4096

/// Where a packet ends: each in exactly one of these. The first sixteen are counted by server.
enum outcome {
	/// Sent on to a server.
	FORWARDED = 0,
	/// An answer of a server, sent on to its client.
	RETURNED = 1,
	/// Handed to this host, where the server is.
	COLLOCATED = 2,
	/// An ICMP error about a connection, sent on to its server.
	ERROR_FORWARDED = 3,
	/// An ICMP error about a connection, sent on to its client.
	ERROR_RETURNED = 4,
	/// Dropped: no link address is known for the server or the way to the client.
	NEIGHBOUR_UNKNOWN = 5,
	/// Dropped: no free port is left towards the server.
	NO_PORT = 6,
	/// Dropped: the hop limit ran out here, and nobody is told: an ICMP error, a fragment, or too many of them.
	TTL_EXPIRED = 7,
	/// Answered with 'too big': the packet does not fit the way. It is told to senders that allow fragments too, where
	/// none are made of their packets.
	TOO_BIG = 8,
	/// Dropped: the packet does not fit the way, and its sender is not told: it is an ICMP error or a later fragment, or
	/// too many were told.
	OVERSIZE = 9,
	/// Dropped: a client reuses a port before the closing time allows it (RFC 9293, RFC 6191).
	PREMATURE_REUSE = 10,
	/// Dropped: the table of connections is full.
	TABLE_FULL = 11,
	/// Answered with a reset: the connection's server was removed, or answered for another connection of the port.
	RESET_SENT = 12,
	/// Dropped: the driver leaves no room before the packet for the tunnel's header.
	NO_HEADROOM = 13,
	/// Dropped: the kernel refused to change the packet's length.
	RESIZE_FAILED = 14,
	/// Answered with 'time exceeded': the hop limit ran out here.
	TIME_EXCEEDED = 15,
	/// Dropped: no server can take it.
	NO_SERVER = 16,
	/// Dropped: the client is on the deny list, or not on the allow list.
	DENIED = 17,
	/// Dropped: the client is banned for a time, by order or because it went above a limit.
	BANNED = 18,
	/// Dropped: more new connections a second than the service may have.
	SYN_RATE = 19,
	/// Dropped: more resets a second than the service may have.
	RST_RATE = 20,
	/// Dropped: more new connections a second than one client may have.
	SOURCE_SYN_RATE = 21,
	/// Dropped: more resets a second than one client may have.
	SOURCE_RST_RATE = 22,
	/// Dropped: the service has as many connections as it may have.
	CONNECTION_CAP = 23,
	/// Dropped: the client has as many connections as it may have.
	SOURCE_CONNECTION_CAP = 24,
	/// Dropped: more bytes a second than the service may have.
	BANDWIDTH_CAP = 25,
	/// Dropped: more bytes a second than one client may have.
	SOURCE_BANDWIDTH_CAP = 26,
	/// Dropped: too many half-open connections, and new ones come faster than allowed then.
	HALF_OPEN_LIMIT = 27,
	/// Answered with a SYN cookie: too many connections are half-open.
	COOKIE_SENT = 28,
	/// Answered in the client's place: a server repeated what opens a connection that began with a cookie.
	COOKIE_ANSWERED = 29,
	/// Dropped by a rule of the service.
	RULE_DROPPED = 30,
	/// Dropped: a packet of a connection that is over or was never there.
	NO_FLOW = 31,
	/// Handed to this host, which proxies the service.
	PROXIED = 32,
	/// Dropped: the address is shared with another machine, and this one does not hold it.
	GATE_SHUT = 33,
	/// Sent on to a server as fragments, by the process: it does not fit the way, and its sender allows fragments.
	FRAGMENTED = 34,
	/// Dropped: the driver of the interface that it would leave by loses what programs in drivers send.
	DRIVER_REFUSES = 35,
	/// Dropped: carries a TCP option that the service does not take.
	OPTION_REFUSED = 36,
	/// Dropped: a TCP option is malformed, and the service looks at options.
	OPTION_MALFORMED = 37,
	/// Dropped: has reserved bits of TCP, and the service takes none.
	RESERVED_BITS_REFUSED = 38,
	/// Dropped: has the urgent flag, and the service does not take it.
	URGENT_REFUSED = 39,
	/// Dropped: a SYN with data, and the service takes none.
	SYN_DATA_REFUSED = 40,
	/// Dropped: a segment with more data than its receiver announced.
	MSS_EXCEEDED = 41,
	/// Dropped: a later fragment whose first one was not seen.
	FRAGMENT_UNKNOWN = 48,
	/// Handed to this host: not for a service.
	NOT_OURS = 49,
	/// Handed to this host: neither IPv4 nor IPv6.
	NOT_IP = 50,
	/// Dropped: ends inside a header.
	TOO_SHORT = 51,
	/// Dropped: a header contradicts itself.
	BAD_HEADER = 52,
	/// Handed to this host: more extension headers than are followed.
	TOO_MANY_EXTENSIONS = 53,
	/// Handed to this host: an ICMP error about no connection of ours.
	ERROR_NOT_OURS = 54,
	/// Dropped: a fragment that is impossible or would overlap a header.
	BAD_FRAGMENT = 55,
	/// Dropped: the plane has no configuration, or it contradicts itself.
	NO_CONFIGURATION = 56,
	/// Dropped: an answer whose connection is over or was never there.
	ANSWER_WITHOUT_FLOW = 57,
};

/// How a service's packets reach its servers.
enum method {
	/// The destination's link address is rewritten; the server answers the client directly.
	MAC = 0,
	/// The packet is wrapped in another; the server answers the client directly.
	TUNNEL = 1,
	/// Addresses and ports are translated both ways.
	NAT = 2,
	/// The host proxies the service: only the guards act here.
	HOST = 3,
};

/// What wraps a packet in a tunnel.
enum wrap {
	/// IP in IP (RFC 2003, RFC 2473).
	IPIP = 0,
	/// GRE without options (RFC 2784).
	GRE = 1,
	/// GUE variant 1: IP directly in UDP, whose source port carries the flow.
	GUE = 2,
};

/// How a pool chooses.
enum choose {
	/// The next entry of the schedule.
	TURN = 0,
	/// The entry at the published hash of the client's masked address.
	CLIENT = 1,
	/// The entry at a hash of both ends of the connection, the same in both directions.
	SYMMETRIC = 2,
	/// The entry at a hash of the frame's source address; services have `SERVICE_LINK_SOURCE`.
	LINK_SOURCE = 3,
};

/// Where a connection is.
enum state {
	/// Nobody's.
	FREE = 0,
	/// Being filled in.
	CLAIMED = 1,
	/// A SYN was seen, its answer's acknowledgement not yet.
	EMBRYONIC = 2,
	/// Both sides talk.
	ESTABLISHED = 3,
	/// The client has said FIN.
	CLIENT_CLOSED = 4,
	/// The server has said FIN.
	SERVER_CLOSED = 5,
	/// Both have said FIN, or one RST: the closing time runs.
	CLOSING = 6,
	/// UDP.
	DATAGRAM = 7,
};

/// The meters of a service.
enum meter {
	/// New connections.
	METER_SYN = 0,
	/// Resets.
	METER_RST = 1,
	/// Bytes.
	METER_BYTES = 2,
	/// New connections while too many are half-open.
	METER_HALF_OPEN = 3,
};

/// Parts of TCP headers that a service may take or not.
enum tcp_field {
	/// The largest segment (RFC 9293 section 3.7.1).
	MSS = 0,
	/// The scale of windows (RFC 7323 section 2).
	WINDOW_SCALE = 1,
	/// Selective acknowledgements (RFC 2018 section 2).
	SACK = 2,
	/// Timestamps (RFC 7323 section 3).
	TIMESTAMPS = 3,
	/// Reserved bits (RFC 9293 section 3.1), without that of accurate ECN (RFC 9768).
	RESERVED_BITS = 4,
	/// The urgent flag, with its pointer.
	URGENT = 5,
	/// Data in a SYN; it stays or the packet is dropped.
	SYN_DATA = 6,
	/// More data in a segment than its receiver announced; it stays or the packet is dropped. `nat` alone.
	EXCEED_MSS = 7,
};

/// What becomes of such a part.
enum tcp_action {
	/// It stays in the packet.
	TCP_ALLOW = 0,
	/// It is taken out of the packet.
	TCP_CLEAR = 1,
	/// The packet is dropped.
	TCP_DROP = 2,
};

/// What a guard says of its addresses.
enum guard {
	/// Let in.
	GUARD_ALLOW = 0,
	/// Keep out.
	GUARD_DENY = 1,
	/// Keep out until a time.
	GUARD_BAN = 2,
};

/// What user space is told through the ring `events`.
enum event {
	/// A server's link address is wanted.
	EVENT_NEIGHBOUR = 0,
	/// A client's next hop's link address is wanted.
	EVENT_CLIENT_NEIGHBOUR = 1,
	/// A client's SYN, while its service has half as many half-open connections as its alarm says, or more.
	EVENT_HALF_OPEN = 2,
	/// No free port towards a server.
	EVENT_NO_PORT = 3,
	/// A table of connections is full, or gave up a living one.
	EVENT_TABLE_FULL = 4,
};

/// Counters of parts of TCP headers that were taken out, by `enum tcp_field`.
#define TCP_FIELDS 8

/// `config.flags`: some address is a service for every port.
#define CONFIG_ANY_PORT 1
/// `config.flags`: some service has every address.
#define CONFIG_ANY_ADDRESS 2
/// `config.flags`: there are shares, so answers of servers come through here.
#define CONFIG_NAT 4
/// `config.flags`: there are shares that keep the client's address.
#define CONFIG_CLIENT_SOURCE 8
/// `config.flags`: there are guards for every service.
#define CONFIG_GUARDS 16
/// `config.flags`: there are shares of one port and shares of all ports, which may be of one server and return address.
#define CONFIG_PORT_PAIRS 32

/// `service.flags`: the guards of this service are looked at.
#define SERVICE_GUARDS 1
/// `service.flags`: a client that no guard names is kept out.
#define SERVICE_ALLOW_ONLY 2
/// `service.flags`: some rate for one client is set.
#define SERVICE_SOURCES 4
/// `service.flags`: a client that goes above a limit of its own is banned.
#define SERVICE_BANS 8
/// `service.flags`: a server of it is on this host.
#define SERVICE_LOCAL 16
/// `service.flags`: beyond `half_open_limit` a SYN is answered with a cookie; `nat` alone.
#define SERVICE_COOKIES 32
/// `service.flags`: some address of it is shared with another machine, so `holds` is asked.
#define SERVICE_SHARED 64
/// `service.flags`: changes of its connections are noted, for another machine.
#define SERVICE_TELLS_FLOWS 128
/// `service.flags`: changes of who sticks to its servers are noted.
#define SERVICE_TELLS_STICKY 256
/// `service.flags`: some pool of it chooses by the frame's source address.
#define SERVICE_LINK_SOURCE 512

/// `server.flags`: takes new connections.
#define SERVER_TAKES 1
/// `server.flags`: forwards at all; without it the server's connections choose again, or are dropped.
#define SERVER_SERVES 2
/// `server.flags`: its connections are answered with a reset.
#define SERVER_RESETS 4
/// `server.flags`: its address is this host's.
#define SERVER_LOCAL 8
/// `server.flags`: takes new connections of clients that stick to it, though of no others.
#define SERVER_KEEPS 16

/// `server.flags`: packets to it are translated, so it takes clients of its own family alone.
#define SERVER_TRANSLATES 32

/// Value of `addresses`, bits: a service listens there.
#define ADDRESS_SERVICE 1
/// Value of `addresses`, bits: servers answer to it.
#define ADDRESS_RETURN 2
/// Value of `addresses`, bits: it is this host's own; kept while some service has every address.
#define ADDRESS_OWN 4

/// `next_hop.state`: no link address is known; the kernel's tables are asked for each packet.
#define NEXT_HOP_UNKNOWN 0
/// `next_hop.state`: usable.
#define NEXT_HOP_OK 1

/// `record.word`, bits 16 to 31: the record's entry in `record_owners` names a client.
#define RECORD_OWNED 1
/// `record.word`, bits 16 to 31: the connection began with a SYN cookie.
#define RECORD_COOKIE 2
/// `record.word`, bits 16 to 31: the record's entry in `announced` is of this connection.
#define RECORD_SIZED 4

/// `share.flags`: the client's address is kept; ports are not changed.
#define SHARE_CLIENT 1

/// `rule.flags`: the rule holds now.
#define RULE_ON 1

/// `interface.flags`: the program runs in the driver, so a frame is what was on the wire.
#define INTERFACE_NATIVE 1
/// `interface.flags`: its driver loses what programs in drivers send out of it; looked at while `config.refusing` is not 0.
#define INTERFACE_REFUSES 2

#endif
