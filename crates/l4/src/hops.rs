//! Next hops: which way leads to each server, and whether the link address there still holds. Pure: what the kernel
//! says and the time go in, what is to be asked and written comes out.
//!
//! A link address is confirmed every second. One that is not confirmed in time is asked for anew by everybody's
//! address, so that a server whose link address changed is followed within about two seconds.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use model::moment::Moment;

use crate::abi;

/// Between two confirmations of a link address.
pub const CONFIRM: Duration = Duration::from_secs(1);
/// How long an answer may take before the address is asked for anew.
pub const ANSWER: Duration = Duration::from_millis(800);
/// Attempts without an answer after which a link address counts for nothing.
pub const TRIES: u32 = 4;
/// Requests to the kernel in one tick.
pub const REQUESTS: usize = 256;

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its link address; none for interfaces without.
    pub address: Option<[u8; 6]>,
    /// Largest IP packet.
    pub mtu: u32,
    /// Whether it runs.
    pub up: bool,
}

/// What the kernel says of the way to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// The address is this machine's.
    Local,
    /// There is none: why.
    None(String),
    /// Through an interface.
    Via {
        /// Its number.
        ifindex: u32,
        /// Whom to ask there: a router, or the address itself.
        next: IpAddr,
        /// Our address on it.
        source: Option<IpAddr>,
    },
}

/// How things stand with a server's next hop, as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// A link address is known and confirmed.
    Ok,
    /// It is being asked for.
    Trying,
    /// Nobody answers.
    Error,
    /// No route leads there: why.
    NoInterface(String),
    /// The interface does not run.
    Down,
    /// It is this machine.
    Local,
}

impl State {
    /// As `status` shows it.
    pub fn name(&self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Trying => "trying",
            State::Error => "error",
            State::NoInterface(_) => "no-interface",
            State::Down => "down",
            State::Local => "local",
        }
    }
}

/// What the kernel is to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// The way to a server.
    Route(IpAddr),
    /// Resolve an address as if it were used.
    Use(u32, IpAddr),
    /// Confirm a link address with its owner.
    Confirm(u32, IpAddr),
    /// Forget a link address and ask everybody for it.
    Renew(u32, IpAddr),
}

/// What the kernel knows of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// This link address, confirmed just now.
    Confirmed([u8; 6]),
    /// This link address, confirmed a while ago.
    Old([u8; 6]),
    /// No link address.
    Nothing,
}

type Place = (u32, IpAddr);

#[derive(Clone, Debug)]
struct Neighbour {
    link: Option<[u8; 6]>,
    /// Last confirmation.
    confirmed: Option<Moment>,
    /// Since when an answer is awaited.
    asked: Option<Moment>,
    /// Attempts without an answer.
    tries: u32,
}

impl Neighbour {
    /// As the maps have it, when they do: for that interface.
    fn of(written: Option<&abi::Way>, ifindex: u32) -> Neighbour {
        let seed = written.filter(|way| way.ifindex == ifindex && way.state == abi::WAY_OK);
        Neighbour { link: seed.map(|way| way.to), confirmed: None, asked: None, tries: 0 }
    }
}

#[derive(Clone, Debug)]
struct Hop {
    way: u32,
    route: Option<Route>,
    written: Option<abi::Way>,
}

/// All next hops.
#[derive(Debug, Default)]
pub struct Hops {
    hops: BTreeMap<IpAddr, Hop>,
    neighbours: HashMap<Place, Neighbour>,
    links: HashMap<u32, Link>,
    /// Some neighbour may be no next hop any more.
    untidy: bool,
    /// Some way may differ from what was written.
    news: bool,
}

impl Hops {
    /// Sets which servers need a way, and the index of each; `known` are ways that stand in the maps already.
    pub fn want(&mut self, wanted: &[(IpAddr, u32)], known: &BTreeMap<IpAddr, abi::Way>) {
        let mut before = std::mem::take(&mut self.hops);
        for (ip, way) in wanted {
            let hop = before.remove(ip).filter(|hop| hop.way == *way);
            let hop = hop.unwrap_or_else(|| Hop {
                way: *way,
                route: None,
                written: known.get(ip).copied(),
            });
            self.hops.insert(*ip, hop);
        }
        (self.untidy, self.news) = (true, true);
    }

    /// The interfaces of this machine.
    pub fn links(&mut self, links: HashMap<u32, Link>) {
        self.links = links;
        self.news = true;
    }

    /// Asks for every way anew: routes, addresses or interfaces have changed.
    pub fn reroute(&self) -> Vec<Request> {
        self.hops.keys().map(|ip| Request::Route(*ip)).collect()
    }

    /// What the kernel says of the way to a server.
    pub fn routed(&mut self, server: IpAddr, route: Route) {
        let Some(hop) = self.hops.get_mut(&server) else { return };
        if hop.route.as_ref() == Some(&route) {
            return;
        }
        if let Route::Via { ifindex, next, .. } = &route {
            let new = || Neighbour::of(hop.written.as_ref(), *ifindex);
            self.neighbours.entry((*ifindex, *next)).or_insert_with(new);
        }
        self.untidy |= hop.route.replace(route).is_some();
        self.news = true;
    }

    /// What the kernel says of a neighbour.
    pub fn heard(&mut self, ifindex: u32, next: IpAddr, heard: Heard, now: Moment) {
        let Some(neighbour) = self.neighbours.get_mut(&(ifindex, next)) else { return };
        let before = neighbour.link;
        match heard {
            Heard::Confirmed(link) => {
                *neighbour =
                    Neighbour { link: Some(link), confirmed: Some(now), asked: None, tries: 0 };
            }
            Heard::Old(link) => {
                // Another address is news even before it is confirmed; the same one is none.
                if neighbour.link != Some(link) {
                    neighbour.link = Some(link);
                    neighbour.confirmed = None;
                    neighbour.tries = 0;
                }
            }
            // Forgotten by the kernel, or by us to ask anew: what was known stands until the attempts are used up.
            Heard::Nothing => neighbour.confirmed = None,
        }
        self.news |= neighbour.link != before;
    }

    /// What is to be asked now.
    pub fn tick(&mut self, now: Moment) -> Vec<Request> {
        self.tidy();
        let mut requests: Vec<Request> = self
            .hops
            .iter()
            .filter(|(_, hop)| hop.route.is_none())
            .map(|(ip, _)| Request::Route(*ip))
            .collect();
        let since = |at: Option<Moment>| at.map(|at| now.since(at));
        for ((ifindex, next), one) in &mut self.neighbours {
            if requests.len() >= REQUESTS || !self.links.get(ifindex).is_some_and(|link| link.up) {
                continue;
            }
            if since(one.asked).is_some_and(|waited| waited < ANSWER) {
                continue;
            }
            let fresh = since(one.confirmed).is_some_and(|age| age < CONFIRM);
            if fresh {
                continue;
            }
            // Its owner is asked first; when that was in vain, everybody.
            let request = match (one.link, one.asked) {
                (Some(_), None) => Request::Confirm(*ifindex, *next),
                (Some(_), Some(_)) => Request::Renew(*ifindex, *next),
                (None, _) => Request::Use(*ifindex, *next),
            };
            if one.asked.is_some() {
                one.tries = one.tries.saturating_add(1);
            }
            if one.tries >= TRIES {
                self.news |= one.link.take().is_some();
            }
            one.asked = Some(now);
            requests.push(request);
        }
        requests
    }

    /// Ways that differ from what was written last.
    pub fn changed(&mut self) -> Vec<(u32, abi::Way)> {
        let mut out = Vec::new();
        if !std::mem::take(&mut self.news) {
            return out;
        }
        for hop in self.hops.values_mut() {
            let way = way(hop.route.as_ref(), &self.neighbours, &self.links);
            let Some(way) = way.filter(|way| hop.written != Some(*way)) else { continue };
            hop.written = Some(way);
            out.push((hop.way, way));
        }
        out
    }

    /// How things stand with a server's next hop.
    pub fn state(&self, server: IpAddr) -> Option<State> {
        let hop = self.hops.get(&server)?;
        Some(match &hop.route {
            None => State::Trying,
            Some(Route::Local) => State::Local,
            Some(Route::None(why)) => State::NoInterface(why.clone()),
            Some(Route::Via { ifindex, next, .. }) => {
                let up = self.links.get(ifindex).is_some_and(|link| link.up);
                let one = self.neighbours.get(&(*ifindex, *next));
                match one {
                    _ if !up => State::Down,
                    Some(one) if one.link.is_some() && one.tries == 0 => State::Ok,
                    Some(one) if one.tries >= TRIES => State::Error,
                    _ => State::Trying,
                }
            }
        })
    }

    /// The way to a server, as the kernel last said.
    pub fn route(&self, server: IpAddr) -> Option<&Route> {
        self.hops.get(&server)?.route.as_ref()
    }

    /// All interfaces by number.
    pub fn all_links(&self) -> &HashMap<u32, Link> {
        &self.links
    }

    /// Every server whose way is kept.
    pub fn servers(&self) -> impl Iterator<Item = IpAddr> {
        self.hops.keys().copied()
    }

    /// Neighbours are those of routes in use and no others.
    fn tidy(&mut self) {
        if !std::mem::take(&mut self.untidy) {
            return;
        }
        let mut needed: HashMap<Place, Neighbour> = HashMap::new();
        for hop in self.hops.values() {
            if let Some(Route::Via { ifindex, next, .. }) = &hop.route {
                let place = (*ifindex, *next);
                let known = self.neighbours.remove(&place);
                let new = || Neighbour::of(hop.written.as_ref(), *ifindex);
                needed.entry(place).or_insert_with(|| known.unwrap_or_else(new));
            }
        }
        self.neighbours = needed;
    }
}

/// The way as the maps hold it; `None` while nothing is known yet.
fn way(
    route: Option<&Route>,
    neighbours: &HashMap<Place, Neighbour>,
    links: &HashMap<u32, Link>,
) -> Option<abi::Way> {
    let Route::Via { ifindex, next, .. } = route? else { return Some(abi::Way::default()) };
    let link = links.get(ifindex);
    let known = neighbours.get(&(*ifindex, *next)).and_then(|one| one.link);
    match (known, link, link.and_then(|link| link.address)) {
        (Some(to), Some(link), Some(from)) if link.up => {
            Some(abi::Way { to, from, ifindex: *ifindex, mtu: link.mtu, state: abi::WAY_OK })
        }
        _ => Some(abi::Way::default()),
    }
}

#[cfg(test)]
mod tests;
