//! Kernel settings for hosts of a test network, for `NetworkNamespace::write_sysctls`.
//!
//! Plain data; nothing is written here.

use super::namespace::SysctlSetting;

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
pub const FORWARDING: [SysctlSetting<'static>; 8] = [
    SysctlSetting { path: "net/ipv4/ip_forward", value: "1" },
    SysctlSetting { path: "net/ipv6/conf/all/forwarding", value: "1" },
    SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
    SysctlSetting { path: "net/ipv4/conf/default/rp_filter", value: "0" },
    SysctlSetting { path: "net/ipv4/conf/all/send_redirects", value: "0" },
    SysctlSetting { path: "net/ipv4/conf/default/send_redirects", value: "0" },
    // Tests check ICMP errors, so no rate limit may drop one (icmp(7)).
    SysctlSetting { path: "net/ipv4/icmp_ratelimit", value: "0" },
    SysctlSetting { path: "net/ipv6/icmp/ratelimit", value: "0" },
];

/// Settings for a server with the service's address on its loopback. The server neither responds to ARP requests for
/// that address nor announces it.
pub(super) const DIRECT_RETURN: [SysctlSetting<'static>; 4] = [
    SysctlSetting { path: "net/ipv4/conf/all/arp_ignore", value: "1" },
    SysctlSetting { path: "net/ipv4/conf/all/arp_announce", value: "2" },
    SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
    SysctlSetting { path: "net/ipv4/conf/default/rp_filter", value: "0" },
];

/// Settings for every host. IPv6 addresses are usable at once (no duplicate address detection), and many connections in
/// sequence find free ports.
pub const HOST: [SysctlSetting<'static>; 5] = [
    SysctlSetting { path: "net/ipv6/conf/all/accept_dad", value: "0" },
    SysctlSetting { path: "net/ipv6/conf/default/accept_dad", value: "0" },
    SysctlSetting { path: "net/ipv6/conf/default/accept_ra", value: "0" },
    SysctlSetting { path: "net/ipv4/ip_local_port_range", value: "1024 65535" },
    SysctlSetting { path: "net/ipv4/tcp_tw_reuse", value: "1" },
];
