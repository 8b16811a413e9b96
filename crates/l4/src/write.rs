//! One change of one map, and the order in which changes are safe: what is new before what refers to it, removals
//! last. It carries nothing out.

use crate::abi;

/// A change of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// What there is at all, as far as it must be known before the rest.
    Expect(u32),
    /// How frames reach a next hop.
    Way(u32, abi::Way),
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
    /// A service.
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

impl Write {
    /// Its place in the order.
    fn rank(&self) -> u8 {
        match self {
            Write::Expect(..) | Write::Way(..) => 0,
            Write::Share(..) => 1,
            Write::Share4(..) | Write::Share6(..) => 2,
            Write::ShareList(..) => 3,
            Write::Server(..) => 4,
            Write::Schedule(..) => 5,
            Write::Pool(..) => 6,
            Write::Rules(..) => 7,
            Write::Guard(..) => 8,
            Write::Service(..) => 9,
            Write::Vip4(..) | Write::Vip6(..) => 10,
            Write::Address(..) => 11,
            Write::Flags(..) => 12,
            Write::DropVip4(..) | Write::DropVip6(..) => 13,
            Write::DropAddress(..) | Write::DropGuard(..) => 13,
            Write::DropShare4(..) | Write::DropShare6(..) => 14,
            Write::DropServer(..) => 15,
            Write::DropService(..) => 16,
        }
    }
}

/// Puts changes into the safe order; those of one kind stay as they were.
pub fn order(writes: &mut [Write]) {
    writes.sort_by_key(Write::rank);
}
