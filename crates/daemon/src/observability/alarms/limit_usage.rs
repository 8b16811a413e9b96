//! Everything that has a limit, and how much of it is in use now.

use std::collections::HashSet;

use model::capacity::port_shares::UDP;
use model::config::{ForwardingMode, ServiceConfig};

use crate::observability::headroom::ResourceUsage;
use crate::observability::report::report_sources::ProcessFacts;
use crate::state::StateSnapshot;

/// Everything that has a limit, and how much of it is in use.
pub(super) fn collect_usage(facts: &ProcessFacts, snapshot: &StateSnapshot) -> Vec<ResourceUsage> {
    let own = || "the process".to_owned();
    let files = facts.descriptors;
    let mut uses = vec![ResourceUsage {
        resource: "file descriptors",
        subject: own(),
        used: files.in_use,
        limit: files.limit,
    }];
    uses.extend(facts.port_usage.iter().map(|row| {
        let source = row.source.map_or_else(|| "any".to_owned(), |source| source.to_string());
        ResourceUsage {
            resource: "source ports",
            subject: format!("{source} towards {}", row.destination),
            used: u64::from(row.in_use),
            limit: u64::from(row.in_use) + u64::from(row.left),
        }
    }));
    let connections = |of: String, used: u32, limit: u32| {
        let used = u64::from(used);
        let limit = u64::from(limit);
        ResourceUsage { resource: "connections", subject: of, used, limit }
    };
    for view in snapshot.snapshot.services.values() {
        if let Some(limit) = view.config.limit.connections {
            uses.push(connections(
                view.config.name.clone(),
                view.stats.open_connections.get(),
                limit,
            ));
        }
    }
    if let Some(limit) = snapshot.config.global.connections {
        uses.push(connections(own(), facts.open_counts.connections, limit));
    }
    for pool in snapshot.snapshot.pools.values() {
        for server in pool.servers.iter() {
            if let Some(limit) = server.config.connections {
                let of = format!("{}/{}", pool.config.name, server.config.name);
                uses.push(connections(of, server.stats.connections.get(), limit));
            }
        }
    }
    uses.extend(flows(facts, snapshot));
    uses.extend(translated_ports(facts));
    uses
}

/// The packet plane's two tables: all services of a kind share one.
fn flows(facts: &ProcessFacts, snapshot: &StateSnapshot) -> Vec<ResourceUsage> {
    let mut out = Vec::new();
    for (nat, of) in [(false, "direct return"), (true, "nat")] {
        let all = snapshot.config.services.values();
        let ours = all.filter(|service| service.packets.is_some() && is_nat(service) == nat);
        let mut names = ours.map(|service| &service.name).peekable();
        if names.peek().is_none() {
            continue;
        }
        let found = names.filter_map(|name| facts.packets.flows.get(name));
        let used = found.map(|service| u64::from(service.flows)).sum();
        let limit = u64::from(snapshot.config.packets.flows);
        out.push(ResourceUsage { resource: "flows", subject: of.to_owned(), used, limit });
    }
    out
}

/// Ports of return addresses towards each server, as used by the packet plane. All services share a server's ports, and
/// each protocol has its own. With clients' own addresses they are entries of the same table.
fn translated_ports(facts: &ProcessFacts) -> Vec<ResourceUsage> {
    let mut seen = HashSet::new();
    let mut names = HashSet::new();
    let mut out = Vec::new();
    let services = facts.packets.flows.iter();
    for (service, ports) in
        services.flat_map(|(name, all)| all.ports.iter().map(move |one| (name, one)))
    {
        if !seen.insert(ports.shares.as_slice()) {
            continue;
        }
        let mut of = format!("{}/{}", ports.pool, ports.name);
        if ports.protocol == UDP {
            of.push_str(" (udp)");
        }
        if !names.insert(of.clone()) {
            // If one service preserves clients' ports and another does not, their ports are counted separately.
            of.push_str(&format!(" of {service}"));
        }
        let what =
            if ports.keeps_client_address { "translated connections" } else { "return ports" };
        out.push(ResourceUsage {
            resource: what,
            subject: of,
            used: ports.used,
            limit: ports.total,
        });
    }
    out
}

fn is_nat(service: &ServiceConfig) -> bool {
    service.forward == ForwardingMode::Nat
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::capacity::port_shares::TCP;

    use super::*;
    use crate::observability::report::fixture;
    use crate::planes::packets::view::{PacketPlaneView, ReturnPorts, ServiceFlows};

    #[test]
    fn every_configured_limit_is_among_them() {
        let text = "[global]\nconnections = 1000\n[packets]\nflows = 4096\nreturn = \"192.0.2.9\"\n\
                    [service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nlimit = { connections = 50 }\n\
                    [service.direct]\nlisten = \"192.0.2.1:80\"\nforward = \"nat\"\npool = \"web\"\n\
                    [pool.web]\nservers = [{ name = \"a\", address = \"127.0.0.1:2\", connections = 7 }]\n";
        let snapshot = fixture::state_snapshot(text, 1);
        let found = collect_usage(&ProcessFacts::default(), &snapshot);
        let mut limits: Vec<(&str, &str, u64)> =
            found.iter().map(|one| (one.resource, one.subject.as_str(), one.limit)).collect();
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

    fn ports(name: &str, protocol: u8, shares: &[u32], used: u64) -> ReturnPorts {
        let all = 16_384 * shares.len() as u64;
        let pool = "web".to_owned();
        let name = name.to_owned();
        let kept = false;
        ReturnPorts {
            pool,
            name,
            protocol,
            keeps_client_address: kept,
            shares: shares.to_vec(),
            used,
            total: all,
        }
    }

    #[test]
    fn ports_of_return_addresses_are_those_that_were_made_and_services_share_them() {
        let service = |name: &str, ports: &[ReturnPorts]| {
            (name.to_owned(), ServiceFlows { ports: ports.to_vec(), ..Default::default() })
        };
        let a = ports("a", TCP, &[0, 1, 2, 3], 65_000);
        let flows = [
            service("one", &[a.clone(), ports("b", TCP, &[4], 7)]),
            service("two", &[a, ports("a", UDP, &[9], 1)]),
            service(
                "wide",
                &[
                    ports("a", TCP, &[12], 2),
                    ReturnPorts { keeps_client_address: true, ..ports("c", TCP, &[5], 3) },
                ],
            ),
        ];
        let view = PacketPlaneView { flows: flows.into(), ..PacketPlaneView::default() };
        let found =
            translated_ports(&ProcessFacts { packets: Arc::new(view), ..ProcessFacts::default() });
        let found: Vec<(&str, &str, u64, u64)> = found
            .iter()
            .map(|one| (one.resource, one.subject.as_str(), one.used, one.limit))
            .collect();
        // Nearly all ports of `web/a` are in use; against four times 64,510 it would be a quarter.
        let wanted = [
            ("return ports", "web/a", 65_000, 4 * 16_384),
            ("return ports", "web/b", 7, 16_384),
            ("return ports", "web/a (udp)", 1, 16_384),
            ("return ports", "web/a of wide", 2, 16_384),
            ("translated connections", "web/c", 3, 16_384),
        ];
        assert_eq!(found, wanted);
    }
}
