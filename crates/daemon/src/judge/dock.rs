//! Which servers are put out for what they answer, over all pools. Pure: pictures, counters and the time go in, orders
//! come out.
//!
//! The arithmetic is `model::eject`'s. Only pools that requests are proxied to are looked at.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use model::config::Forward;
use model::eject::{Court, Order, Seen, Standing, Sum, Tally};
use model::id::{PoolId, ServerId};
use model::moment::Moment;
use model::snapshot::{PoolView, ServerState, ServerView};

use crate::control::{Judgement, Picture, ServerFacts};

/// What a look came to.
#[derive(Debug, Default)]
pub struct Ruled {
    /// What is to be done, and at which server.
    pub orders: Vec<Order>,
    /// The newest arithmetic of every server that is looked at.
    pub sums: Vec<(ServerId, Sum)>,
}

/// Every pool that ejects.
#[derive(Debug, Default)]
pub struct Dock {
    courts: HashMap<PoolId, Court>,
    servers: usize,
}

impl Dock {
    /// Looks at everything once.
    pub fn look(&mut self, picture: &Picture, now: Moment, mut draw: impl FnMut() -> u64) -> Ruled {
        let proxied = proxied(picture);
        let pools = &picture.snapshot.pools;
        let wanted = |id: &PoolId, view: &PoolView| {
            view.config.eject.is_some() && view.servers.len() > 1 && proxied.contains(id)
        };
        self.courts.retain(|id, _| pools.get(id).is_some_and(|view| wanted(id, view)));
        self.servers = 0;
        let mut ruled = Ruled::default();
        for (id, view) in pools {
            let Some(terms) = view.config.eject.as_ref().filter(|_| wanted(id, view)) else {
                release(picture, view, |_| false, &mut ruled.orders);
                continue;
            };
            self.servers += view.servers.len();
            let seen: Vec<Seen> =
                view.servers.iter().filter_map(|server| self::seen(picture, server)).collect();
            let court = self.courts.entry(*id).or_default();
            ruled.orders.extend(court.look(terms, now, &seen, &mut draw));
            let out: HashSet<ServerId> = court.ejected().collect();
            release(picture, view, |id| out.contains(&id), &mut ruled.orders);
            let sums = view.servers.iter().filter_map(|server| {
                court.arithmetic(server.id).map(|sum| (server.id, sum.clone()))
            });
            ruled.sums.extend(sums);
        }
        ruled
    }

    /// Servers that are looked at.
    pub fn servers(&self) -> usize {
        self.servers
    }
}

/// Pools of `http` services, and of their rules.
fn proxied(picture: &Picture) -> HashSet<PoolId> {
    let services = picture.snapshot.services.values();
    let services = services.filter(|service| service.config.forward == Forward::Http);
    services
        .flat_map(|service| {
            let of_rules = service.rules.iter().flat_map(|ruling| ruling.pools.iter().copied());
            of_rules.chain([service.pool])
        })
        .collect()
}

/// Servers that are put out in the picture, and by nobody here.
fn release(
    picture: &Picture,
    view: &PoolView,
    is_out: impl Fn(ServerId) -> bool,
    orders: &mut Vec<Order>,
) {
    let ordered: HashSet<ServerId> = orders
        .iter()
        .filter(|order| matches!(order, Order::Readmit { .. }))
        .map(Order::server)
        .collect();
    for server in &view.servers {
        let out = picture.servers.get(&server.id).is_some_and(|facts| facts.ejected.is_some());
        if out && !is_out(server.id) && !ordered.contains(&server.id) {
            orders.push(Order::Readmit { id: server.id, after: Duration::ZERO, needed: false });
        }
    }
}

fn seen(picture: &Picture, server: &ServerView) -> Option<Seen> {
    let facts = picture.servers.get(&server.id)?;
    let mut tally = Tally::default();
    for slot in &server.live.slots {
        tally.good += slot.counters.judged_good.get();
        tally.bad += slot.counters.judged_bad.get();
        tally.cut += slot.counters.judged_cut.get();
    }
    let in_a_row = u64::from(server.live.bad_in_a_row.get());
    Some(Seen { id: server.id, standing: standing(facts, server), tally, in_a_row })
}

/// What it would be if it were not put out.
fn standing(facts: &ServerFacts, server: &ServerView) -> Standing {
    match facts.state {
        ServerState::Drain | ServerState::Disabled => Standing::Out,
        _ if server.config.weight.get() == 0 || facts.weight.get() == 0 => Standing::Out,
        ServerState::Up | ServerState::Unknown => Standing::In,
        ServerState::Down => {
            let alive = facts.judged.health != Judgement::Down;
            let wants = facts.agent.as_ref().is_none_or(|(state, _)| *state != ServerState::Down);
            let found = facts.resolved.address().is_some();
            let may = facts.ejected.is_some() && alive && wants && found;
            if may { Standing::In } else { Standing::Down }
        }
    }
}
