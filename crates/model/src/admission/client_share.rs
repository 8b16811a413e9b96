//! Clients that have connections, the phases of a connection, and how much of a limit one client may have.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// A handshake or a head that takes longer has stalled: its connection may be closed for a newcomer. Bounds how long
/// newcomers wait for a place behind slow clients.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(1);

/// A client's first bytes, or its first response in a handshake, may be in flight for this long.
pub const CLIENT_HELLO_GRACE: Duration = Duration::from_millis(250);

/// The smallest automatic share: so few connections are no attack.
pub const LEAST_SHARE: u32 = 8;

/// A client: an IPv4 address, or a /64 of IPv6, since one host can use all addresses of its /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientKey(PackedAddress);

/// Packed into few bytes, since every connection stores one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PackedAddress {
    Address4([u8; 4]),
    Prefix6([u8; 8]),
}

impl ClientKey {
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionPhase {
    /// The client has sent nothing yet.
    Silent,
    /// The handshake has started, and the client has not responded to the balancer's first message.
    Hello,
    /// The handshake is in progress.
    Handshake,
    /// A request head has begun and is not complete.
    Head,
    /// The connection can carry requests, and has carried none.
    Fresh,
    /// The connection waits for the next request.
    Idle,
    /// The connection carries a request or a tunnel.
    Busy,
    /// The connection was chosen to be closed and is closing.
    Leaving,
}

impl AdmissionPhase {
    pub fn is_handshake(self) -> bool {
        matches!(self, AdmissionPhase::Hello | AdmissionPhase::Handshake)
    }
}

/// How much of a limit one client may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientShare {
    /// Above half of the limit at most as many as are free, but never fewer than `LEAST_SHARE`.
    Auto,
    /// At most this many, however many are free.
    Fixed(u32),
}

impl ClientShare {
    /// As configured; `None`: automatic.
    pub fn from_limit(most: Option<u32>) -> ClientShare {
        most.map_or(ClientShare::Auto, ClientShare::Fixed)
    }

    /// Whether any client can have reached its share while `open` connections are open.
    pub fn may_apply(self, open: u32, limit: u32) -> bool {
        match self {
            ClientShare::Fixed(_) => true,
            ClientShare::Auto => open >= limit.div_ceil(2),
        }
    }

    /// Whether a client that has `held` of the `open` connections has reached its share of `limit`.
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
        for (held, open, limit, reached) in [
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
                reached,
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
