//! An address with one port, a range of ports, or any port.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use serde::{Serialize, Serializer};

/// An address with one port, a range of ports, or any port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenRange {
    /// The address; unspecified: every address of that family.
    pub address: IpAddr,
    /// The lowest port; 0: any port.
    pub first: u16,
    /// The highest port; equal to `first` for a single port.
    pub last: u16,
}

impl ListenRange {
    pub fn single_port(address: IpAddr, port: u16) -> ListenRange {
        ListenRange { address, first: port, last: port }
    }

    pub fn any_port(address: IpAddr) -> ListenRange {
        ListenRange::single_port(address, 0)
    }

    pub fn is_any_port(self) -> bool {
        self.first == 0
    }

    /// The port, if there is exactly one.
    pub fn exact_port(self) -> Option<u16> {
        (self.first == self.last && self.first != 0).then_some(self.first)
    }

    /// Whether this range includes an address and port.
    pub fn contains(self, at: SocketAddr) -> bool {
        let everywhere = self.address.is_unspecified() && self.address.is_ipv4() == at.is_ipv4();
        let port = self.is_any_port() || (self.first..=self.last).contains(&at.port());
        port && (everywhere || self.address == at.ip())
    }

    /// Whether both include a port of the same address, and both or neither are wildcards.
    pub fn overlaps(self, other: ListenRange) -> bool {
        self.address == other.address
            && self.is_any_port() == other.is_any_port()
            && self.first <= other.last
            && other.first <= self.last
    }
}

impl fmt::Display for ListenRange {
    /// The form in the file.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            IpAddr::V4(v4) => write!(to, "{v4}:")?,
            IpAddr::V6(v6) => write!(to, "[{v6}]:")?,
        }
        match (self.first, self.last) {
            (0, _) => to.write_str("*"),
            (first, last) if first == last => write!(to, "{first}"),
            (first, last) => write!(to, "{first}-{last}"),
        }
    }
}

impl Serialize for ListenRange {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_its_ports_and_an_unspecified_address_those_of_its_family() {
        let at = |text: &str| text.parse::<SocketAddr>().unwrap();
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let range = ListenRange { address: ip("10.0.0.1"), first: 80, last: 90 };
        assert!(range.contains(at("10.0.0.1:80")) && range.contains(at("10.0.0.1:90")));
        assert!(!range.contains(at("10.0.0.1:91")) && !range.contains(at("10.0.0.2:80")));
        let any = ListenRange::any_port(ip("0.0.0.0"));
        assert!(any.contains(at("10.9.9.9:1")) && !any.contains(at("[::1]:1")));
    }

    #[test]
    fn spans_collide_on_their_own_level_only() {
        let at = |first, last| ListenRange { address: [10, 0, 0, 1].into(), first, last };
        assert!(at(80, 90).overlaps(at(90, 91)));
        assert!(!at(80, 90).overlaps(at(91, 91)));
        assert!(!at(0, 0).overlaps(at(80, 80)));
        assert!(at(0, 0).overlaps(at(0, 0)));
    }
}
