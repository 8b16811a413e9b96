//! What a name may be answered with now: servers of a pool, services, or addresses of the file.
//!
//! `model::pick` decides which servers of a pool may take work, for requests, packets and names alike.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use model::config::{Config, NameConfig, NameSource, PoolConfig};
use model::load_balancing::eligible_servers::{EligibleServers, EligibleTier};
use model::snapshot::{PoolView, ServerView, WorkerSnapshot};

/// One possible answer of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerCandidate {
    /// The name of the server, service or address.
    pub name: String,
    /// The candidate's addresses; empty while a server's name does not resolve.
    pub addresses: Vec<IpAddr>,
    /// The port for SRV records; 0: none.
    pub port: u16,
    pub weight: u16,
    /// Whether the candidate may be answered while another one is up too.
    pub up: bool,
    /// A short reason for the candidate's state.
    pub reason: String,
}

/// The pools of a snapshot by name.
#[derive(Debug)]
pub struct PoolIndex<'s>(HashMap<&'s str, &'s PoolView>);

impl<'s> PoolIndex<'s> {
    pub fn from_snapshot(snapshot: &'s WorkerSnapshot) -> PoolIndex<'s> {
        let pools = snapshot.pools.values().map(Arc::as_ref);
        PoolIndex(pools.map(|pool: &PoolView| (pool.config.name.as_str(), pool)).collect())
    }
}

/// The candidates of a name, in the order of the file.
pub fn name_candidates(
    named: &NameConfig,
    config: &Config,
    pools: &PoolIndex<'_>,
) -> Vec<AnswerCandidate> {
    match &named.source {
        NameSource::Cname(_) => Vec::new(),
        NameSource::Pool(pool) => {
            pools.0.get(pool.as_str()).map(|pool| server_candidates(pool)).unwrap_or_default()
        }
        NameSource::Addresses(list) => {
            let one = |it: &model::config::NamedAddress| AnswerCandidate {
                name: it.name.clone(),
                addresses: it.addresses.clone(),
                port: 0,
                weight: it.weight,
                up: it.weight > 0,
                reason: if it.weight > 0 { "it has no health check" } else { "its weight is 0" }
                    .to_owned(),
            };
            list.iter().map(one).collect()
        }
        NameSource::Services(names) => {
            names.iter().filter_map(|name| service_candidate(name, config, pools)).collect()
        }
    }
}

/// The servers' names, in the order of `name_candidates`.
pub fn candidate_names(named: &NameConfig, config: &Config) -> Vec<String> {
    match &named.source {
        NameSource::Cname(_) => Vec::new(),
        NameSource::Pool(pool) => {
            let servers = config.pools.get(pool).map(|pool: &Arc<PoolConfig>| pool.servers.iter());
            servers.into_iter().flatten().map(|server| server.name.clone()).collect()
        }
        NameSource::Addresses(list) => list.iter().map(|it| it.name.clone()).collect(),
        NameSource::Services(names) => names.clone(),
    }
}

fn server_candidates(pool: &PoolView) -> Vec<AnswerCandidate> {
    let eligible = EligibleServers::from_view(pool);
    let turn = |at: usize| {
        eligible.tier != EligibleTier::AllDown
            && eligible.servers.iter().any(|slot| slot.index == at)
    };
    let one = |(at, server): (usize, &ServerView)| AnswerCandidate {
        name: server.config.name.clone(),
        addresses: server.socket_address().iter().map(|at| at.ip().to_canonical()).collect(),
        port: server.config.address.port,
        weight: server.weight.get(),
        up: turn(at),
        reason: server_reason(server, turn(at)),
    };
    pool.servers.iter().enumerate().map(one).collect()
}

fn server_reason(server: &ServerView, up: bool) -> String {
    if server.address.is_none() {
        return "its name does not resolve".to_owned();
    }
    if server.weight.get() == 0 {
        return "its weight is 0".to_owned();
    }
    match (server.takes_work(), up) {
        (true, false) => format!("{}, behind servers of a better rank", server.state.name()),
        _ => server.state.name().to_owned(),
    }
}

/// A service is up while at least one of its servers is available.
fn service_candidate(
    name: &str,
    config: &Config,
    pools: &PoolIndex<'_>,
) -> Option<AnswerCandidate> {
    let service = config.services.get(name)?;
    let packets = service.packets.iter().flat_map(|packets| &packets.listen);
    let spans = packets.map(|span| (span.address, span.exact_port().unwrap_or(0)));
    let listen = service.listen.iter().map(|at| (at.ip(), at.port())).chain(spans);
    let listen: Vec<(IpAddr, u16)> = listen.filter(|(ip, _)| !ip.is_unspecified()).collect();
    let mut addresses: Vec<IpAddr> = listen.iter().map(|(ip, _)| *ip).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let eligible = pools.0.get(service.pool.as_str()).map(|pool| EligibleServers::from_view(pool));
    let eligible = eligible.unwrap_or_default();
    let up = !eligible.servers.is_empty() && eligible.tier != EligibleTier::AllDown;
    Some(AnswerCandidate {
        name: name.to_owned(),
        addresses,
        port: listen.first().map_or(0, |(_, port)| *port),
        weight: 1,
        up,
        reason: if up {
            format!("{} servers of pool {} take work", eligible.servers.len(), service.pool)
        } else {
            format!("no server of pool {} is available", service.pool)
        },
    })
}
