//! Settings of the kernel's that hosts of a network need, as pairs for `Namespace::set`.
//!
//! Plain data; nothing is written here.

/// How a host's TCP adapts to the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    #[default]
    Cubic,
    /// By bandwidth and round trip.
    Bbr,
}

impl Congestion {
    /// Its name in the kernel. It goes with routes: in a namespace the setting takes no algorithm that the whole
    /// machine reserves for root.
    pub(super) fn name(self) -> &'static str {
        match self {
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
        }
    }
}

/// Who forwards: a router, and a balancer whose programs ask the kernel for routes. Answers of direct return come
/// from where their source is not routed, so that the reverse path is not judged.
pub const FORWARDING: [(&str, &str); 8] = [
    ("net/ipv4/ip_forward", "1"),
    ("net/ipv6/conf/all/forwarding", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
    ("net/ipv4/conf/all/send_redirects", "0"),
    ("net/ipv4/conf/default/send_redirects", "0"),
    // Errors are part of what is proven: none is held back (icmp(7)).
    ("net/ipv4/icmp_ratelimit", "0"),
    ("net/ipv6/icmp/ratelimit", "0"),
];

/// A server with the service's address on its loopback: it answers no question of the link layer about that address
/// and does not tell it as its own.
pub(super) const DIRECT_RETURN: [(&str, &str); 4] = [
    ("net/ipv4/conf/all/arp_ignore", "1"),
    ("net/ipv4/conf/all/arp_announce", "2"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
];

/// Every host: addresses of version 6 are used at once, and many connections one after the other have ports.
pub const HOST: [(&str, &str); 5] = [
    ("net/ipv6/conf/all/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_dad", "0"),
    ("net/ipv6/conf/default/accept_ra", "0"),
    ("net/ipv4/ip_local_port_range", "1024 65535"),
    ("net/ipv4/tcp_tw_reuse", "1"),
];
