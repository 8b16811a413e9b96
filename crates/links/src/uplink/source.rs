//! Which address of this machine belongs to a gateway. Pure.

use std::net::IpAddr;

use model::config::IpPrefix;
use thiserror::Error;

/// An address of an interface, with its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceNetwork {
    pub ifindex: u32,
    pub ip: IpAddr,
    /// On a point-to-point link the peer's address, otherwise the same.
    pub peer: IpAddr,
    /// The prefix length of its network.
    pub bits: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SourceError {
    /// The gateway cannot be reached from the interface.
    #[error(
        "gateway {gateway} is in no network of {interface}, which has {has}: correct `via`, or give the interface an address there"
    )]
    NotInNetwork { gateway: IpAddr, interface: String, has: String },
    /// The interface has no address that other hosts can reach.
    #[error(
        "{interface} has no address of {gateway}'s family that is known beyond it: set `source`"
    )]
    OnlyLocal { gateway: IpAddr, interface: String },
    /// No interface has the configured source address.
    #[error("source {source_address} is no address of this machine")]
    NotOurs { source_address: IpAddr },
}

/// The source for packets to a gateway. `wanted`: as configured; `all`: every address of this machine.
///
/// # Errors
/// There is none, or the gateway cannot be reached.
pub fn select_source(
    gateway: IpAddr,
    interface: &str,
    ifindex: u32,
    wanted: Option<IpAddr>,
    all: &[InterfaceNetwork],
) -> Result<IpAddr, SourceError> {
    let here = || {
        let family = move |own: &&InterfaceNetwork| own.ip.is_ipv6() == gateway.is_ipv6();
        all.iter().filter(move |own| own.ifindex == ifindex).filter(family)
    };
    let interface = || interface.to_owned();
    let near = |own: &&InterfaceNetwork| {
        let network = IpPrefix::new(own.peer, own.bits);
        network.is_some_and(|network| network.contains(gateway)) && own.ip != gateway
    };
    if !here().any(|own| near(&own)) {
        let has: Vec<String> = here().map(|own| format!("{}/{}", own.ip, own.bits)).collect();
        let has =
            if has.is_empty() { "no address of its family".to_owned() } else { has.join(", ") };
        return Err(SourceError::NotInNetwork { gateway, interface: interface(), has });
    }
    if let Some(source_address) = wanted {
        let ours = all.iter().any(|own| own.ip == source_address);
        return if ours {
            Ok(source_address)
        } else {
            Err(SourceError::NotOurs { source_address })
        };
    }
    let known = |own: &&InterfaceNetwork| !is_link_local(own.ip);
    let found = here().filter(known).find(near).or_else(|| here().find(known));
    found
        .map(|own| own.ip)
        .ok_or_else(|| SourceError::OnlyLocal { gateway, interface: interface() })
}

fn is_link_local(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn rows() {
        let own =
            |ifindex, at: &str, bits| InterfaceNetwork { ifindex, ip: ip(at), peer: ip(at), bits };
        let all = [
            own(1, "10.1.0.5", 24),
            own(1, "192.0.2.10", 24),
            own(1, "fe80::5", 64),
            own(1, "2001:db8::5", 64),
            own(2, "203.0.113.1", 32),
            own(3, "fe80::7", 64),
        ];
        let of = |gateway, ifindex, wanted: Option<&str>| {
            select_source(ip(gateway), "eth", ifindex, wanted.map(ip), &all)
        };
        assert_eq!(of("192.0.2.1", 1, None), Ok(ip("192.0.2.10")));
        assert_eq!(of("192.0.2.1", 1, Some("203.0.113.1")), Ok(ip("203.0.113.1")));
        assert_eq!(of("fe80::1", 1, None), Ok(ip("2001:db8::5")), "a gateway may be link-local");
        assert_eq!(of("2001:db8::1", 1, None), Ok(ip("2001:db8::5")));
        let far = of("198.51.100.1", 1, None).unwrap_err().to_string();
        assert!(far.contains("10.1.0.5/24, 192.0.2.10/24"), "{far}");
        let none = of("192.0.2.1", 3, None).unwrap_err().to_string();
        assert!(none.contains("no address of its family"), "{none}");
        let line = [InterfaceNetwork { peer: ip("10.9.0.1"), ..own(4, "10.9.0.2", 32) }];
        let found = select_source(ip("10.9.0.1"), "ppp0", 4, None, &line);
        assert_eq!(found, Ok(ip("10.9.0.2")), "the other end of a line");
        assert!(matches!(of("fe80::1", 3, None), Err(SourceError::OnlyLocal { .. })));
        assert!(matches!(of("192.0.2.1", 1, Some("9.9.9.9")), Err(SourceError::NotOurs { .. })));
        let itself = of("192.0.2.10", 1, None);
        assert!(
            matches!(itself, Err(SourceError::NotInNetwork { .. })),
            "its own address is no gateway"
        );
    }
}
