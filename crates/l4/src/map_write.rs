//! One change of one map, and the order in which changes are safe: what is new before what refers to it, removals
//! last. It carries nothing out.

use crate::abi;

/// A change of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapWrite {
    /// What there is at all, as far as it must be known before the rest.
    Expect(u32),
    /// How frames reach a next hop.
    NextHop(u32, abi::Way),
    /// Ports of a return address towards a server.
    Share(u32, abi::Share),
    /// Which share an answer belongs to.
    Share4(abi::Share4, u32),
    /// The same for IPv6.
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
    /// Whom a service takes.
    Guard(abi::GuardKey, abi::GuardValue),
    Service(u32, abi::Service),
    /// Which service an address and port belong to.
    Vip4(abi::Vip4, abi::Vip),
    /// The same for IPv6.
    Vip6(abi::Vip6, abi::Vip),
    /// An address of a service or a return address.
    Address(abi::Address, u32),
    /// What there is at all.
    Flags(u32),
    /// An address and port are no service any more.
    DropVip4(abi::Vip4),
    /// The same for IPv6.
    DropVip6(abi::Vip6),
    /// An address is nothing to us any more.
    DropAddress(abi::Address),
    /// A guard is gone.
    DropGuard(abi::GuardKey),
    /// Answers do not belong to a share any more.
    DropShare4(abi::Share4),
    /// The same for IPv6.
    DropShare6(abi::Share6),
    /// A server is nobody's any more; its counts begin again.
    DropServer(u32),
    /// A service is nobody's any more; its counts begin again.
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

/// Puts changes into the safe order; those of one kind stay as they were.
pub fn sort_writes(writes: &mut [MapWrite]) {
    writes.sort_by_key(MapWrite::order_rank);
}
