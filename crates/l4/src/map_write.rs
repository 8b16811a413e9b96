//! One change of one map, and the safe order of changes: new entries before references to them, removals last. This
//! module applies no changes.

use crate::abi;

/// A change of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapWrite {
    /// The global flags that must be known before the other writes.
    Expect(u32),
    /// The link address and interface of a next hop.
    NextHop(u32, abi::NextHop),
    /// Ports of a return address towards a server.
    Share(u32, abi::Share),
    /// The share that a server's replies belong to.
    Share4(abi::Share4, u32),
    /// A share of an IPv6 server.
    Share6(abi::Share6, u32),
    /// Shares of a server, from an entry on.
    ShareList(u32, Vec<u32>),
    /// A server of a service.
    Server(u32, abi::Server),
    /// Servers in the order of choice, from an entry on.
    Schedule(u32, Vec<u32>),
    /// A pool of a service.
    Pool(u32, abi::Pool),
    /// Rules, from an entry on.
    Rules(u32, Vec<abi::Rule>),
    /// An allow or deny network of a service.
    Guard(abi::GuardKey, abi::GuardValue),
    Service(u32, abi::Service),
    /// Which service an address and port belong to.
    Vip4(abi::Vip4, abi::Vip),
    /// A listened IPv6 address.
    Vip6(abi::Vip6, abi::Vip),
    /// An address of a service or a return address.
    Address(abi::Address, u32),
    Flags(u32),
    /// Removes a listened IPv4 address and port.
    DropVip4(abi::Vip4),
    /// Removes a listened IPv6 address.
    DropVip6(abi::Vip6),
    /// Removes a service address or a return address.
    DropAddress(abi::Address),
    /// A guard is gone.
    DropGuard(abi::GuardKey),
    /// Removes a share of an IPv4 server.
    DropShare4(abi::Share4),
    /// Removes a share of an IPv6 server.
    DropShare6(abi::Share6),
    /// Removes a server; its counters start anew.
    DropServer(u32),
    /// Removes a service; its counters start anew.
    DropService(u32),
}

impl MapWrite {
    /// Its place in the order.
    fn order_rank(&self) -> u8 {
        match self {
            MapWrite::Expect(..) | MapWrite::NextHop(..) => 0,
            MapWrite::Share(..) => 1,
            MapWrite::Share4(..) | MapWrite::Share6(..) => 2,
            MapWrite::ShareList(..) => 3,
            MapWrite::Server(..) => 4,
            MapWrite::Schedule(..) => 5,
            MapWrite::Pool(..) => 6,
            MapWrite::Rules(..) => 7,
            MapWrite::Guard(..) => 8,
            MapWrite::Service(..) => 9,
            MapWrite::Vip4(..) | MapWrite::Vip6(..) => 10,
            MapWrite::Address(..) => 11,
            MapWrite::Flags(..) => 12,
            MapWrite::DropVip4(..) | MapWrite::DropVip6(..) => 13,
            MapWrite::DropAddress(..) | MapWrite::DropGuard(..) => 13,
            MapWrite::DropShare4(..) | MapWrite::DropShare6(..) => 14,
            MapWrite::DropServer(..) => 15,
            MapWrite::DropService(..) => 16,
        }
    }
}

/// Sorts changes into the safe order; changes of one kind stay in their order.
pub fn sort_writes(writes: &mut [MapWrite]) {
    writes.sort_by_key(MapWrite::order_rank);
}
