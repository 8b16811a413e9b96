//! Kernel settings for hosts of a test network, as pairs for `NetworkNamespace::write_sysctls`.
//!
//! Plain data; nothing is written here.

/// The TCP congestion control algorithm of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    #[default]
    Cubic,
    /// Models bandwidth and round-trip time.
    Bbr,
}

impl Congestion {
    /// The algorithm's name in the kernel. It is set on routes: a namespace's sysctl rejects algorithms that the
    /// machine reserves for root.
    pub(super) fn name(self) -> &'static str {
        match self {
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
        }
    }
}

/// Settings for a router, and for a balancer whose programs look up routes in the kernel. Reverse path filtering is
/// off, because direct-return responses arrive on links that their source address is not routed to.
pub const FORWARDING: [(&str, &str); 8] = [
    ("net/ipv4/ip_forward", "1"),
    ("net/ipv6/conf/all/forwarding", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/default/send_redirects", "0"),
    // Tests check ICMP errors, so no rate limit may drop one (icmp(7)).
    ("net/ipv4/icmp_ratelimit", "0"),
    ("net/ipv6/icmp/ratelimit", "0"),
];

/// Settings for a server with the service's address on its loopback. The server neither responds to ARP requests for
/// that address nor announces it.
pub(super) const DIRECT_RETURN: [(&str, &str); 4] = [
    ("net/ipv4/conf/all/arp_ignore", "1"),
    ("net/ipv4/conf/all/arp_announce", "2"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
];

/// Settings for every host. IPv6 addresses are usable at once (no duplicate address detection), and many connections in
/// sequence find free ports.
pub const HOST: [(&str, &str); 5] = [
    ("net/ipv6/conf/all/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv4/ip_local_port_range", "1024 65535"),
    ("net/ipv4/tcp_tw_reuse", "1"),
];
