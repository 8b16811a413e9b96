//! Source affinity: Maglev over the client's network instead of its address.
//!
//! Clients behind the same prefix go to the same server, so a client whose address changes within its network keeps its
//! server. It stores no clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::hash;
use crate::snapshot::PoolView;

use super::eligible_servers::EligibleServers;
use super::maglev::Maglev;
use super::request::{PickRequest, PickResult};

/// Entries of the table: the default size of `maglev`.
pub(super) const SIZE: u32 = 16_381;

#[derive(Clone, Debug)]
pub(super) struct SourceHash {
    maglev: Maglev,
    mask4: u8,
    mask6: u8,
}

impl SourceHash {
    pub fn new(eligible: &EligibleServers, view: &PoolView, mask4: u8, mask6: u8) -> SourceHash {
        SourceHash { maglev: Maglev::new(eligible, view, SIZE), mask4, mask6 }
    }

    pub fn refresh(&mut self, eligible: &EligibleServers, view: &PoolView, mask4: u8, mask6: u8) {
        self.maglev.refresh(eligible, view, SIZE);
        self.mask4 = mask4;
        self.mask6 = mask6;
    }

    #[inline]
    pub fn pick(
        &self,
        eligible: &EligibleServers,
        view: &PoolView,
        ask: &PickRequest,
    ) -> PickResult {
        let network = network(ask.client, self.mask4, self.mask6);
        self.maglev.pick(eligible, view, ask, hash::hash_client(network))
    }
}

/// The address with all but the first `mask4` or `mask6` bits cleared. Mapped IPv4 addresses are IPv4.
fn network(address: IpAddr, mask4: u8, mask6: u8) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32u32.saturating_sub(mask4.into())).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128u32.saturating_sub(mask6.into())).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks() {
        let rows = [
            ("192.0.2.77", 24, 64, "192.0.2.0"),
            ("192.0.2.77", 32, 64, "192.0.2.77"),
            ("192.0.2.77", 0, 64, "0.0.0.0"),
            ("192.0.2.77", 200, 64, "192.0.2.77"),
            ("::ffff:192.0.2.77", 25, 0, "192.0.2.0"),
            ("2001:db8:1:2:3::4", 24, 64, "2001:db8:1:2::"),
            ("2001:db8:1:2:3::4", 24, 128, "2001:db8:1:2:3::4"),
            ("2001:db8:1:2:3::4", 24, 0, "::"),
        ];
        for (address, mask4, mask6, want) in rows {
            let got = network(address.parse().unwrap(), mask4, mask6);
            assert_eq!(got, want.parse::<IpAddr>().unwrap(), "{address}/{mask4}/{mask6}");
        }
    }
}
