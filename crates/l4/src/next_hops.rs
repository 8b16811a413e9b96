//! Next hops: the route to each server, and whether the link address there is still valid. Pure: the kernel's replies
//! and the time go in, requests and writes come out.
//!
//! A link address is confirmed every second. Without confirmation in time it is requested by broadcast, so that a
//! changed link address is followed within about two seconds.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use model::monotonic_time::MonotonicTime;

use crate::abi;

/// A server that needs a next hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHopServer {
    pub server: IpAddr,
    /// Index of the next hop in the map.
    pub index: u32,
}

/// A next hop for the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedNextHop {
    pub index: u32,
    pub next_hop: abi::NextHop,
}

/// Between two confirmations of a link address.
/// A neighbour that changed its link address is found within a second.
pub const CONFIRM_INTERVAL: Duration = Duration::from_secs(1);
/// How long a reply may take before the address is requested by broadcast. Below the second between confirmations.
pub const REPLY_TIMEOUT: Duration = Duration::from_millis(800);
/// Attempts without a reply after which a link address is discarded.
/// Three seconds of silence, as long as the kernel tries by default (mcast_solicit, 3).
pub const MAX_ATTEMPTS: u32 = 4;
/// Requests to the kernel in one tick: bounds the burst after a change.
/// At a tick of 200 ms, 1,280 a second.
pub const REQUESTS: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHopLink {
    pub name: String,
    /// The link address; `None` for interfaces without link addresses.
    pub address: Option<[u8; 6]>,
    pub mtu: u32,
    pub up: bool,
}

/// The kernel's route to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerRoute {
    /// The address is this machine's.
    Local,
    /// There is no route, and why.
    None(String),
    Via {
        ifindex: u32,
        /// The neighbour to resolve: a router, or the address itself.
        next: IpAddr,
        /// Our address on it.
        source: Option<IpAddr>,
    },
}

/// The state of a server's next hop, as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextHopState {
    /// The link address is known and confirmed.
    Ok,
    /// The link address is being requested.
    Trying,
    Error,
    /// No route leads there: why.
    NoInterface(String),
    /// The interface does not run.
    Down,
    /// The server runs on this machine.
    Local,
}

impl NextHopState {
    /// As `status` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            NextHopState::Ok => "ok",
            NextHopState::Trying => "trying",
            NextHopState::Error => "error",
            NextHopState::NoInterface(_) => "no-interface",
            NextHopState::Down => "down",
            NextHopState::Local => "local",
        }
    }
}

/// A request to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHopRequest {
    /// The route to a server.
    Route(IpAddr),
    /// Resolve an address as if it were used.
    Use(u32, IpAddr),
    /// Confirm a link address with its owner.
    Confirm(u32, IpAddr),
    /// Remove a neighbour's link address and resolve it by broadcast.
    Renew(u32, IpAddr),
}

/// The kernel's state of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighbourUpdate {
    /// This link address, confirmed just now.
    Confirmed([u8; 6]),
    /// This link address, confirmed a while ago.
    Stale([u8; 6]),
    Unresolved,
}

type NeighbourKey = (u32, IpAddr);

#[derive(Clone, Debug)]
struct NeighbourEntry {
    link: Option<[u8; 6]>,
    confirmed_at: Option<MonotonicTime>,
    /// Since when an answer is awaited.
    asked_since: Option<MonotonicTime>,
    /// Attempts without an answer.
    tries: u32,
}

impl NeighbourEntry {
    /// The neighbour as the maps have it, if it is at this interface.
    fn from_written(written: Option<&abi::NextHop>, ifindex: u32) -> NeighbourEntry {
        let seed = written.filter(|way| way.ifindex == ifindex && way.state == abi::NEXT_HOP_OK);
        NeighbourEntry {
            link: seed.map(|way| way.to),
            confirmed_at: None,
            asked_since: None,
            tries: 0,
        }
    }
}

#[derive(Clone, Debug)]
struct NextHop {
    index: u32,
    route: Option<ServerRoute>,
    written: Option<abi::NextHop>,
}

#[derive(Debug, Default)]
pub struct NextHopTable {
    hops: BTreeMap<IpAddr, NextHop>,
    neighbours: HashMap<NeighbourKey, NeighbourEntry>,
    links: HashMap<u32, NextHopLink>,
    /// Some neighbours may not be next hops any longer.
    has_stale_neighbours: bool,
    /// Some next hop may differ from the last write.
    has_changes: bool,
}

impl NextHopTable {
    /// Sets the servers that need a next hop; `known`: next hops that are in the maps already.
    pub fn set_servers(
        &mut self,
        wanted: &[NextHopServer],
        known: &BTreeMap<IpAddr, abi::NextHop>,
    ) {
        let mut before = std::mem::take(&mut self.hops);
        for NextHopServer { server, index } in wanted {
            let hop = before.remove(server).filter(|hop| hop.index == *index);
            let hop = hop.unwrap_or_else(|| NextHop {
                index: *index,
                route: None,
                written: known.get(server).copied(),
            });
            self.hops.insert(*server, hop);
        }
        self.has_stale_neighbours = true;
        self.has_changes = true;
    }

    /// The interfaces of this machine.
    pub fn set_links(&mut self, links: HashMap<u32, NextHopLink>) {
        self.links = links;
        self.has_changes = true;
    }

    /// Requests every route anew, because routes, addresses or interfaces have changed.
    pub fn reroute(&self) -> Vec<NextHopRequest> {
        self.hops.keys().map(|ip| NextHopRequest::Route(*ip)).collect()
    }

    /// Handles the kernel's route to a server.
    pub fn set_route(&mut self, server: IpAddr, route: ServerRoute) {
        let Some(hop) = self.hops.get_mut(&server) else { return };
        if hop.route.as_ref() == Some(&route) {
            return;
        }
        if let ServerRoute::Via { ifindex, next, .. } = &route {
            let new = || NeighbourEntry::from_written(hop.written.as_ref(), *ifindex);
            self.neighbours.entry((*ifindex, *next)).or_insert_with(new);
        }
        self.has_stale_neighbours |= hop.route.replace(route).is_some();
        self.has_changes = true;
    }

    /// Handles the kernel's state of a neighbour.
    pub fn update_neighbour(
        &mut self,
        ifindex: u32,
        next: IpAddr,
        heard: NeighbourUpdate,
        now: MonotonicTime,
    ) {
        let Some(neighbour) = self.neighbours.get_mut(&(ifindex, next)) else { return };
        let before = neighbour.link;
        match heard {
            NeighbourUpdate::Confirmed(link) => {
                *neighbour = NeighbourEntry {
                    link: Some(link),
                    confirmed_at: Some(now),
                    asked_since: None,
                    tries: 0,
                };
            }
            NeighbourUpdate::Stale(link) => {
                // A changed link address is used even before it is confirmed. An unchanged one has no effect.
                if neighbour.link != Some(link) {
                    neighbour.link = Some(link);
                    neighbour.confirmed_at = None;
                    neighbour.tries = 0;
                }
            }
            // The kernel removed the entry, perhaps on our request: the old address stays in use until the attempts are
            // used up.
            NeighbourUpdate::Unresolved => neighbour.confirmed_at = None,
        }
        self.has_changes |= neighbour.link != before;
    }

    /// The requests that are due.
    pub fn tick(&mut self, now: MonotonicTime) -> Vec<NextHopRequest> {
        self.remove_stale_neighbours();
        let mut requests: Vec<NextHopRequest> = self
            .hops
            .iter()
            .filter(|(_, hop)| hop.route.is_none())
            .map(|(ip, _)| NextHopRequest::Route(*ip))
            .collect();
        let since = |at: Option<MonotonicTime>| at.map(|at| now.since(at));
        for ((ifindex, next), one) in &mut self.neighbours {
            if requests.len() >= REQUESTS || !self.links.get(ifindex).is_some_and(|link| link.up) {
                continue;
            }
            if since(one.asked_since).is_some_and(|waited| waited < REPLY_TIMEOUT) {
                continue;
            }
            let fresh = since(one.confirmed_at).is_some_and(|age| age < CONFIRM_INTERVAL);
            if fresh {
                continue;
            }
            // The first request goes to the neighbour by unicast, further requests are broadcast.
            let request = match (one.link, one.asked_since) {
                (Some(_), None) => NextHopRequest::Confirm(*ifindex, *next),
                (Some(_), Some(_)) => NextHopRequest::Renew(*ifindex, *next),
                (None, _) => NextHopRequest::Use(*ifindex, *next),
            };
            if one.asked_since.is_some() {
                one.tries = one.tries.saturating_add(1);
            }
            if one.tries >= MAX_ATTEMPTS {
                self.has_changes |= one.link.take().is_some();
            }
            one.asked_since = Some(now);
            requests.push(request);
        }
        requests
    }

    /// Next hops that differ from the last write.
    pub fn take_changes(&mut self) -> Vec<IndexedNextHop> {
        let mut out = Vec::new();
        if !std::mem::take(&mut self.has_changes) {
            return out;
        }
        for hop in self.hops.values_mut() {
            let way = map_entry(hop.route.as_ref(), &self.neighbours, &self.links);
            let Some(way) = way.filter(|way| hop.written != Some(*way)) else { continue };
            hop.written = Some(way);
            out.push(IndexedNextHop { index: hop.index, next_hop: way });
        }
        out
    }

    /// The state of a server's next hop.
    pub fn state(&self, server: IpAddr) -> Option<NextHopState> {
        let hop = self.hops.get(&server)?;
        Some(match &hop.route {
            None => NextHopState::Trying,
            Some(ServerRoute::Local) => NextHopState::Local,
            Some(ServerRoute::None(why)) => NextHopState::NoInterface(why.clone()),
            Some(ServerRoute::Via { ifindex, next, .. }) => {
                let up = self.links.get(ifindex).is_some_and(|link| link.up);
                let one = self.neighbours.get(&(*ifindex, *next));
                match one {
                    _ if !up => NextHopState::Down,
                    Some(one) if one.link.is_some() && one.tries == 0 => NextHopState::Ok,
                    Some(one) if one.tries >= MAX_ATTEMPTS => NextHopState::Error,
                    _ => NextHopState::Trying,
                }
            }
        })
    }

    /// The kernel's last route to a server.
    pub fn route(&self, server: IpAddr) -> Option<&ServerRoute> {
        self.hops.get(&server)?.route.as_ref()
    }

    /// All interfaces by number.
    pub fn all_links(&self) -> &HashMap<u32, NextHopLink> {
        &self.links
    }

    pub fn servers(&self) -> impl Iterator<Item = IpAddr> {
        self.hops.keys().copied()
    }

    /// Removes neighbours without a route in use.
    fn remove_stale_neighbours(&mut self) {
        if !std::mem::take(&mut self.has_stale_neighbours) {
            return;
        }
        let mut needed: HashMap<NeighbourKey, NeighbourEntry> = HashMap::new();
        for hop in self.hops.values() {
            if let Some(ServerRoute::Via { ifindex, next, .. }) = &hop.route {
                let place = (*ifindex, *next);
                let known = self.neighbours.remove(&place);
                let new = || NeighbourEntry::from_written(hop.written.as_ref(), *ifindex);
                needed.entry(place).or_insert_with(|| known.unwrap_or_else(new));
            }
        }
        self.neighbours = needed;
    }
}

/// The next hop in the form of the map; `None` while it is unknown.
fn map_entry(
    route: Option<&ServerRoute>,
    neighbours: &HashMap<NeighbourKey, NeighbourEntry>,
    links: &HashMap<u32, NextHopLink>,
) -> Option<abi::NextHop> {
    let ServerRoute::Via { ifindex, next, .. } = route? else {
        return Some(abi::NextHop::default());
    };
    let link = links.get(ifindex);
    let known = neighbours.get(&(*ifindex, *next)).and_then(|one| one.link);
    match (known, link, link.and_then(|link| link.address)) {
        (Some(to), Some(link), Some(from)) if link.up => Some(abi::NextHop {
            to,
            from,
            ifindex: *ifindex,
            mtu: link.mtu,
            state: abi::NEXT_HOP_OK,
        }),
        _ => Some(abi::NextHop::default()),
    }
}

#[cfg(test)]
mod tests;
