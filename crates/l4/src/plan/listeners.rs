//! The service of each address and port, over all services. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::capacity::port_shares::protocols_with_shares;
use model::config::{ListenRange, TransportProtocols};

use super::encoding::VipKey;
use super::service_plan::Obstacle;
use crate::abi;

/// Ranges of up to this many ports of one address are written port by port. Longer ranges, and ranges of wildcard
/// addresses, are written as lists. A wildcard service excludes the host's own addresses, except for ports named
/// explicitly.
const SPELLED_OUT: u16 = 64;

/// A listener of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VipListener {
    pub service: u32,
    pub name: String,
    /// Its addresses and ports.
    pub spans: Vec<ListenRange>,
    pub protocols: TransportProtocols,
}

/// A listener for which there was no room.
#[derive(Clone, Debug)]
pub struct RefusedListener {
    /// The service's name.
    pub service: String,
    pub obstacle: Obstacle,
}

/// The listened addresses of all services.
#[derive(Clone, Debug)]
pub struct VipPlan {
    pub vips: BTreeMap<VipKey, abi::Vip>,
    pub refused: Vec<RefusedListener>,
}

/// Every key with its value, and the services for which there was no room.
pub fn vip_entries(all: &[VipListener]) -> VipPlan {
    let mut vips = BTreeMap::new();
    let mut refused = Vec::new();
    for one in all {
        for protocol in protocols_with_shares(one.protocols) {
            for span in &one.spans {
                if !add_vip(&mut vips, one.service, *span, protocol) {
                    let obstacle = Obstacle::Ranges { address: span.address };
                    refused.push(RefusedListener { service: one.name.clone(), obstacle });
                }
            }
        }
    }
    VipPlan { vips, refused }
}

fn add_vip(
    vips: &mut BTreeMap<VipKey, abi::Vip>,
    service: u32,
    span: ListenRange,
    protocol: u8,
) -> bool {
    let key = |port| VipKey { address: span.address, port, protocol };
    let alone = abi::Vip { service, ..abi::Vip::default() };
    if span.is_any_port() {
        vips.entry(key(0)).or_insert(EMPTY).service = service;
        return true;
    }
    let short = span.last - span.first < SPELLED_OUT && !span.address.is_unspecified();
    if short || span.first == span.last {
        vips.extend((span.first..=span.last).map(|port| (key(port), alone)));
        return true;
    }
    let vip = vips.entry(key(0)).or_insert(EMPTY);
    let at = vip.ranges as usize;
    if at >= vip.owner.len() {
        return false;
    }
    vip.from[at] = span.first;
    vip.to[at] = span.last;
    vip.owner[at] = service;
    vip.ranges += 1;
    true
}

/// The zeros are free places of fixed arrays in the datapath's entry.
const EMPTY: abi::Vip =
    abi::Vip { service: abi::NONE, ranges: 0, from: [0; 8], to: [0; 8], owner: [0; 8] };

/// Which kinds of wildcards there are, as flags of the configuration.
pub fn wildcard_flags(vips: &BTreeMap<VipKey, abi::Vip>) -> u32 {
    let any_port = vips.keys().any(|key| key.port == 0);
    let any_address = vips.keys().any(|key| key.address.is_unspecified());
    (if any_port { abi::CONFIG_ANY_PORT } else { 0 })
        | (if any_address { abi::CONFIG_ANY_ADDRESS } else { 0 })
}

/// The key of IPv4, or that of IPv6.
pub fn split_key(key: VipKey) -> Result<abi::Vip4, abi::Vip6> {
    let VipKey { address, port, protocol } = key;
    match address {
        IpAddr::V4(v4) => Ok(abi::Vip4 { addr: v4.octets(), port, proto: protocol, pad: 0 }),
        IpAddr::V6(v6) => Err(abi::Vip6 { addr: v6.octets(), port, proto: protocol, pad: 0 }),
    }
}

#[cfg(test)]
mod tests {
    use model::capacity::port_shares::TCP;

    use super::*;

    fn listening(service: u32, first: u16, last: u16) -> VipListener {
        VipListener {
            service,
            name: service.to_string(),
            spans: vec![ListenRange { address: [192, 0, 2, 1].into(), first, last }],
            protocols: TransportProtocols { tcp: true, udp: false },
        }
    }

    #[test]
    fn ports_ranges_and_any_port_stand_side_by_side() {
        let all = [listening(1, 80, 80), listening(2, 1_000, 2_000), listening(3, 0, 0)];
        let VipPlan { vips, refused } = vip_entries(&all);
        assert!(refused.is_empty());
        let at = |port| VipKey { address: [192, 0, 2, 1].into(), port, protocol: TCP };
        assert_eq!(vips[&at(80)].service, 1);
        let any = vips[&at(0)];
        assert_eq!((any.service, any.ranges, any.owner[0]), (3, 1, 2));
        assert_eq!((any.from[0], any.to[0]), (1_000, 2_000));
        assert_eq!(wildcard_flags(&vips), abi::CONFIG_ANY_PORT);
    }

    #[test]
    fn too_many_ranges_are_refused() {
        let all: Vec<VipListener> = (0..9)
            .map(|at| listening(at, 1_000 * (at as u16 + 1), 1_000 * (at as u16 + 1) + 500))
            .collect();
        let VipPlan { refused, .. } = vip_entries(&all);
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].service, "8");
    }
}
