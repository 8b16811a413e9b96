//! Fills the view from the open plane. It changes nothing.

use std::time::Duration;

use super::site::Site;
use super::view::{Sample, ServiceFlows, View};
use crate::control::Picture;

/// Rates are measured over at least so long.
const STEP: Duration = Duration::from_secs(2);

/// Keeps a sample; the one before it stays until it is old enough to measure rates against.
pub(super) fn keep(view: &mut View, sample: Sample) {
    let old =
        view.before.as_ref().is_none_or(|before| sample.at.duration_since(before.at) >= 2 * STEP);
    if old {
        view.before = view.now.clone().or_else(|| Some(sample.clone()));
    }
    view.now = Some(sample);
}

/// Connections, next hops and obstacles.
pub(super) fn fill(view: &mut View, site: &Site, picture: &Picture) {
    view.obstacles = site.obstacles.clone();
    view.hops = site
        .hops
        .servers()
        .filter_map(|ip| {
            let state = site.hops.state(ip)?;
            let why = match &state {
                l4::hops::State::NoInterface(why) => Some(why.clone()),
                _ => None,
            };
            Some((ip, (state.name().to_owned(), why)))
        })
        .collect();
    view.flows.clear();
    view.services.clear();
    for service in picture.snapshot.services.values() {
        let name = &service.config.name;
        let (Some(packets), Some(index)) = (&service.config.packets, site.planner.service(name))
        else {
            continue;
        };
        let flows = flows(site, picture, name, index, packets.guard.half_open);
        view.flows.insert(name.clone(), flows);
        view.services.insert(name.clone(), index);
    }
}

fn flows(
    site: &Site,
    picture: &Picture,
    name: &str,
    index: u32,
    alarm: Option<u32>,
) -> ServiceFlows {
    let mut out = ServiceFlows::default();
    for (server, owner) in site.planner.owners() {
        if owner == index {
            out.flows += site.census.servers.get(&server).copied().unwrap_or(0);
            out.half_open += site.census.half_open.get(&server).copied().unwrap_or(0);
        }
    }
    out.alarm = alarm.is_some_and(|alarm| out.half_open >= alarm);
    for pool in picture.snapshot.pools.values() {
        for server in &pool.servers {
            let Some(at) = server.address.and_then(|at| site.planner.server(name, at)) else {
                continue;
            };
            let flows = site.census.servers.get(&at).copied().unwrap_or(0);
            out.servers.push((pool.config.name.clone(), server.config.name.clone(), at, flows));
        }
    }
    out.servers.sort();
    out
}
