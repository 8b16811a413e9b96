//! What has a limit, and how much of it is in use now. It judges nothing.

use model::config::Forward;

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
    uses
}

/// The packet plane's two tables: all services of a kind share one.
fn flows(facts: &Facts, picture: &Picture) -> Vec<Use> {
    let mut out = Vec::new();
    for (nat, of) in [(false, "direct return"), (true, "nat")] {
        let ours = picture.config.services.values().filter(|service| {
            service.packets.is_some() && (service.forward == Forward::Nat) == nat
        });
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

#[cfg(test)]
mod tests {
    use super::*;
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
}
