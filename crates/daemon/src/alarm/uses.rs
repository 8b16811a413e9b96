//! What has a limit, and how much of it is in use now. It judges nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::capacity::ports::TRANSLATED_PORTS;
use model::config::{Forward, Host, Pool, Service};

use crate::control::Picture;
use crate::headroom::Use;
use crate::report::vitals::Facts;

/// Everything that has a limit, and how much of it is in use.
pub(super) fn uses(facts: &Facts, picture: &Picture) -> Vec<Use> {
    let own = || "the process".to_owned();
    let files = facts.descriptors;
    let mut uses =
        vec![Use { what: "file descriptors", of: own(), used: files.in_use, limit: files.limit }];
    uses.extend(facts.ports.iter().map(|row| {
        let source = row.source.map_or_else(|| "any".to_owned(), |source| source.to_string());
        Use {
            what: "source ports",
            of: format!("{source} towards {}", row.destination),
            used: u64::from(row.in_use),
            limit: u64::from(row.in_use) + u64::from(row.left),
        }
    }));
    let connections = |of: String, used: u32, limit: u32| {
        let (used, limit) = (u64::from(used), u64::from(limit));
        Use { what: "connections", of, used, limit }
    };
    for view in picture.snapshot.services.values() {
        if let Some(limit) = view.config.limit.connections {
            uses.push(connections(view.config.name.clone(), view.live.open.get(), limit));
        }
    }
    if let Some(limit) = picture.config.global.connections {
        uses.push(connections(own(), facts.open.connections, limit));
    }
    for pool in picture.snapshot.pools.values() {
        for server in pool.servers.iter() {
            if let Some(limit) = server.config.connections {
                let of = format!("{}/{}", pool.config.name, server.config.name);
                uses.push(connections(of, server.live.connections.get(), limit));
            }
        }
    }
    uses.extend(flows(facts, picture));
    uses.extend(translated_ports(facts, picture));
    uses
}

/// The packet plane's two tables: all services of a kind share one.
fn flows(facts: &Facts, picture: &Picture) -> Vec<Use> {
    let mut out = Vec::new();
    for (nat, of) in [(false, "direct return"), (true, "nat")] {
        let all = picture.config.services.values();
        let ours = all.filter(|service| service.packets.is_some() && is_nat(service) == nat);
        let mut names = ours.map(|service| &service.name).peekable();
        if names.peek().is_none() {
            continue;
        }
        let found = names.filter_map(|name| facts.packets.flows.get(name));
        let used = found.map(|service| u64::from(service.flows)).sum();
        let limit = u64::from(picture.config.packets.flows);
        out.push(Use { what: "flows", of: of.to_owned(), used, limit });
    }
    out
}

/// Ports of return addresses towards each server: connections of all `nat` services to it share them.
fn translated_ports(facts: &Facts, picture: &Picture) -> Vec<Use> {
    let ours = picture.config.services.values().filter(|service| is_nat(service));
    let found = ours.filter_map(|service| facts.packets.flows.get(&service.name));
    let mut used = BTreeMap::<(&str, &str), u64>::new();
    for server in found.flat_map(|service| &service.servers) {
        *used.entry((&server.pool, &server.name)).or_default() += u64::from(server.flows);
    }
    let towards = |((pool, name), used): ((&str, &str), u64)| {
        let config = picture.config.pools.get(pool).filter(|pool| !pool.source_client)?;
        let server = config.servers.iter().find(|server| server.name == name)?;
        let Host::Ip(ip) = server.address.host else { return None };
        let sources = sources(config, &picture.config.packets.returns, ip);
        let limit = u64::from(TRANSLATED_PORTS) * sources;
        Some(Use { what: "return ports", of: format!("{pool}/{name}"), used, limit })
    };
    used.into_iter().filter_map(towards).collect()
}

/// How many addresses answers of this server may be sent to.
fn sources(pool: &Pool, returns: &[IpAddr], server: IpAddr) -> u64 {
    let own = if pool.source.is_empty() { returns } else { &pool.source };
    own.iter().filter(|ip| ip.is_ipv4() == server.is_ipv4()).count() as u64
}

fn is_nat(service: &Service) -> bool {
    service.forward == Forward::Nat
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::packets::view::{ServerFlows, ServiceFlows, View};
    use crate::report::fixture;

    #[test]
    fn every_configured_limit_is_among_them() {
        let text = "[global]\nconnections = 1000\n[packets]\nflows = 4096\nreturn = \"192.0.2.9\"\n\
                    [service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nlimit = { connections = 50 }\n\
                    [service.direct]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"web\"\n\
                    [pool.web]\nservers = [{ name = \"a\", address = \"127.0.0.1:2\", connections = 7 }]\n";
        let picture = fixture::picture(text, 1);
        let found = uses(&Facts::default(), &picture);
        let mut limits: Vec<(&str, &str, u64)> =
            found.iter().map(|one| (one.what, one.of.as_str(), one.limit)).collect();
        limits.sort_unstable();
        assert_eq!(
            limits,
            [
                ("connections", "shop", 50),
                ("connections", "the process", 1_000),
                ("connections", "web/a", 7),
                ("file descriptors", "the process", 0),
                ("flows", "nat", 4_096),
            ]
        );
    }
    #[test]
    fn ports_of_return_addresses_are_shared_by_services_and_belong_to_a_family() {
        let text = "[packets]\nreturn = [\"192.0.2.9\", \"192.0.2.10\", \"2001:db8::9\"]\n\
                    [service.one]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"web\"\n\
                    [service.two]\nlisten = \"192.0.2.1:81\"\nforward = \"nat\"\npool = \"web\"\n\
                    [pool.web]\nservers = [{ name = \"a\", address = \"10.0.0.2:80\" }]\n";
        let server = |flows| ServerFlows { pool: "web".into(), name: "a".into(), index: 0, flows };
        let service = |flows| ServiceFlows { servers: vec![server(flows)], ..Default::default() };
        let flows = [("one".to_owned(), service(300)), ("two".to_owned(), service(11))];
        let view = View { flows: flows.into(), ..View::default() };
        let facts = Facts { packets: Arc::new(view), ..Facts::default() };
        let found = translated_ports(&facts, &fixture::picture(text, 1));
        let wanted =
            Use { what: "return ports", of: "web/a".to_owned(), used: 311, limit: 2 * 64_510 };
        assert_eq!(found, [wanted]);
    }
}
