//! Who has connections, what they do, and how much one client may have of a limit.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// A handshake or a head that takes longer may be closed for a newcomer.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a client says first, or answers first in a handshake, may be on its way for so long.
pub const CLIENT_HELLO_GRACE: Duration = Duration::from_millis(250);

/// An automatic share is never smaller: few connections are no attack.
pub const LEAST_SHARE: u32 = 8;

/// Who has connections: an IPv4 address, or a /64 of IPv6, since one host has all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientKey(PackedAddress);

/// As few bytes as it takes: each connection has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PackedAddress {
    Address4([u8; 4]),
    Prefix6([u8; 8]),
}

impl ClientKey {
    /// The client at this address.
    pub fn from_address(address: IpAddr) -> ClientKey {
        match address.to_canonical() {
            IpAddr::V6(ip) => {
                let [a, b, c, d, e, f, g, h, ..] = ip.octets();
                ClientKey(PackedAddress::Prefix6([a, b, c, d, e, f, g, h]))
            }
            IpAddr::V4(ip) => ClientKey(PackedAddress::Address4(ip.octets())),
        }
    }
}

impl Hash for ClientKey {
    fn hash<H: Hasher>(&self, to: &mut H) {
        to.write_u64(match self.0 {
            PackedAddress::Address4(address) => u32::from_be_bytes(address).into(),
            PackedAddress::Prefix6(prefix) => u64::from_be_bytes(prefix),
        });
    }
}

impl fmt::Display for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            PackedAddress::Address4(address) => Ipv4Addr::from(address).fmt(f),
            PackedAddress::Prefix6(prefix) => {
                let bits = u128::from(u64::from_be_bytes(prefix)) << 64;
                write!(f, "{}/64", Ipv6Addr::from_bits(bits))
            }
        }
    }
}

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionPhase {
    /// Its client has sent nothing yet.
    Silent,
    /// Its handshake has begun, and its client has not answered what it was sent.
    Hello,
    /// Its handshake has begun and is not over.
    Handshake,
    /// A head has begun and is not whole.
    Head,
    /// It can carry requests, and has carried none.
    Fresh,
    /// It waits for the next request.
    Idle,
    /// It carries a request or a tunnel.
    Busy,
    /// It has lost its place and is being closed.
    Leaving,
}

impl AdmissionPhase {
    /// Whether a handshake is under way.
    pub fn is_handshake(self) -> bool {
        matches!(self, AdmissionPhase::Hello | AdmissionPhase::Handshake)
    }
}

/// How much one client may have of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientShare {
    /// Above half of the limit at most as much as is left free, but never fewer than `LEAST_SHARE`.
    Auto,
    /// So much in any case.
    Fixed(u32),
}

impl ClientShare {
    /// As configured; `None`: automatic.
    pub fn from_limit(most: Option<u32>) -> ClientShare {
        most.map_or(ClientShare::Auto, ClientShare::Fixed)
    }

    /// Whether any client can be at its share while so many are open.
    pub fn may_apply(self, open: u32, limit: u32) -> bool {
        match self {
            ClientShare::Fixed(_) => true,
            ClientShare::Auto => open >= limit.div_ceil(2),
        }
    }

    /// Whether a client that has `held` of the `open` ones is at its share of `limit`.
    pub fn is_reached(self, held: u32, open: u32, limit: u32) -> bool {
        match self {
            ClientShare::Fixed(most) => held >= most,
            ClientShare::Auto => {
                self.may_apply(open, limit) && held >= limit.saturating_sub(open).max(LEAST_SHARE)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(text: &str) -> ClientKey {
        ClientKey::from_address(text.parse().unwrap())
    }

    #[test]
    fn a_client_is_an_address_of_ipv4_or_a_64_of_ipv6() {
        assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:192.0.2.1"), client("192.0.2.1"));
        assert_ne!(client("192.0.2.1"), client("192.0.2.2"));
        assert_eq!(client("2001:db8::1").to_string(), "2001:db8::/64");
        assert_eq!(client("192.0.2.1").to_string(), "192.0.2.1");
    }

    #[test]
    fn an_automatic_share_bites_above_half_of_the_limit_alone() {
        for (held, open, limit, met) in [
            (499, 499, 1000, false),
            (500, 500, 1000, true),
            (100, 899, 1000, false),
            (101, 899, 1000, true),
            (1, 999, 1000, false),
            (7, 993, 1000, false),
            (8, 993, 1000, true),
            (7, 7, 8, false),
            (300, 300, u32::MAX, false),
        ] {
            assert_eq!(
                ClientShare::Auto.is_reached(held, open, limit),
                met,
                "{held} of {open} of {limit}"
            );
        }
        assert!(
            ClientShare::Fixed(3).is_reached(3, 3, 1000)
                && !ClientShare::Fixed(3).is_reached(2, 999, 1000)
        );
        assert_eq!(
            (ClientShare::from_limit(None), ClientShare::from_limit(Some(2))),
            (ClientShare::Auto, ClientShare::Fixed(2))
        );
    }
}
