//! The two members, the two IP families, and their addresses.

use std::net::IpAddr;

/// The last byte of the shared addresses.
pub const SHARED: u8 = 10;

/// One of the two members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberIndex {
    First,
    Second,
}

pub use MemberIndex::{First, Second};

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFamily {
    V4,
    V6,
}

pub use ClientFamily::{V4, V6};

impl ClientFamily {
    /// The address with this last byte.
    pub fn host(self, last: u8) -> IpAddr {
        match self {
            V4 => IpAddr::from([10, 9, 0, last]),
            V6 => format!("fd09::{last}").parse().unwrap(),
        }
    }

    pub fn shared(self) -> IpAddr {
        self.host(SHARED)
    }

    pub fn group(self) -> &'static str {
        match self {
            V4 => "front4",
            V6 => "front6",
        }
    }
}

impl MemberIndex {
    /// The last byte of the member's address.
    pub fn host(self) -> u8 {
        self.number()
    }

    pub fn other(self) -> MemberIndex {
        if self == First { Second } else { First }
    }

    /// The member's number, which is also the last byte of its address.
    pub fn number(self) -> u8 {
        match self {
            First => 1,
            Second => 2,
        }
    }

    /// The member's port at the bridge.
    pub fn port(self) -> String {
        format!("p{}", self.number())
    }

    pub fn priority(self) -> u8 {
        match self {
            First => 150,
            Second => 100,
        }
    }
}
