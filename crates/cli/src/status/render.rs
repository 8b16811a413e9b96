//! A status as text. Pure: ages are counted from the daemon's own clock.

mod alarm;
mod heartbeat;
mod limit;
mod link;
mod mptcp;
mod names;
mod packets;
mod uplink;
mod users;
mod vrrp;

use api::types::{
    Draining, Evidence, PoolStatus, ServerStatus, ServiceState, ServiceStatus, Status,
};
use model::snapshot::ServerState;

use crate::outcome::CommandError;
use crate::pattern::{check_patterns, matches_any};
use crate::show::error_cell::error_cell;
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::{count, span};

/// Keeps services with their pools, and pools with their services; everything without names.
pub fn select(mut status: Status, only: Option<&str>) -> Result<Status, CommandError> {
    let Some(list) = only else { return Ok(status) };
    let services = status.services.iter().map(|service| service.name.as_str());
    let names: Vec<&str> =
        services.chain(status.pools.iter().map(|pool| pool.name.as_str())).collect();
    check_patterns(list, &names)?;
    let named = status.services.iter().filter(|service| matches_any(list, &service.name));
    let pools: Vec<String> = named.map(|service| service.pool.clone()).collect();
    let either = |service: &str, pool: &str| matches_any(list, service) || matches_any(list, pool);
    status.services.retain(|service| either(&service.name, &service.pool));
    status.pools.retain(|pool| matches_any(list, &pool.name) || pools.contains(&pool.name));
    alarm::select(&mut status);
    Ok(status)
}

/// As text for a screen of this width.
pub fn render(status: &Status, width: usize, paint: Paint) -> String {
    let mut out = format!(
        "steelyard {}, generation {}, up {}, pid {}, {} {}\n",
        status.version,
        status.generation,
        span(status.uptime_ms),
        status.pid,
        status.workers,
        if status.workers == 1 { "worker" } else { "workers" },
    );
    out.push_str(&alarm::alarms(status, paint));
    for warning in &status.warnings {
        out.push_str(&format!("{} {}\n", paint.text(Colour::Doubt, "warning:"), plain(warning)));
    }
    for trouble in status.uplinks.iter().flat_map(|all| &all.problems) {
        out.push_str(&format!("{} {}\n", paint.text(Colour::Doubt, "uplinks:"), plain(trouble)));
    }
    let mut tables = vec![services(status), users::promises(status), certificates(status)];
    tables.extend([pools(status), limit::limits(status), servers(status)]);
    if let Some(forwarded) = &status.packets {
        out.push_str(&packets::head(forwarded, paint));
        tables.extend([packets::interfaces(forwarded), packets::neighbours(forwarded)]);
    }
    tables.push(vrrp::members(status));
    tables.extend([heartbeat::peers(status), heartbeat::paths(status), heartbeat::targets(status)]);
    tables.push(heartbeat::replication(status));
    tables.push(heartbeat::witnesses(status));
    tables.push(link::links(status));
    tables.push(uplink::uplinks(status));
    tables.extend([mptcp::endpoints(status), mptcp::subflows(status)]);
    if let Some(served) = &status.names {
        tables.extend([names::listeners(served), names::names(served)]);
    }
    tables.push(draining(status));
    for table in tables {
        let text = table.render(width, paint);
        if !text.is_empty() {
            out.push('\n');
            out.push_str(&text);
        }
    }
    out
}

fn services(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVICE"),
        left("FORWARD"),
        left("LISTEN"),
        left("POOL"),
        right("OPEN"),
        right("IN FLIGHT"),
        right("ERRORS"),
        left("STATE"),
    ]);
    for service in &status.services {
        let ServiceStatus {
            name,
            forward,
            listen,
            pool,
            state,
            reason,
            since_unix_ms,
            open,
            in_flight,
            errors,
            certificates: _,
            objectives: _,
        } = service;
        let age = span(status.now_unix_ms.saturating_sub(*since_unix_ms));
        table.row(vec![
            name.as_str().into(),
            forward.as_str().into(),
            listen.join("\n").into(),
            pool.as_str().into(),
            count(*open).into(),
            count(*in_flight).into(),
            error_cell(errors),
            TextCell::with_lead(state.name(), service_colour(*state), &format!(" {age}: {reason}")),
        ]);
    }
    table
}

fn certificates(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("CERTIFICATE"),
        left("NAMES"),
        left("KEY"),
        right("GOOD FOR"),
        left("STATE"),
    ]);
    for service in &status.services {
        for certificate in &service.certificates {
            let left = certificate.expires_unix_ms.saturating_sub(status.now_unix_ms);
            let age = span(status.now_unix_ms.saturating_sub(certificate.since_unix_ms));
            let state = match &certificate.problem {
                Some(why) => TextCell::with_lead("as before", Colour::Doubt, &format!(": {why}")),
                None => format!("active {age}").into(),
            };
            table.row(vec![
                format!("{}: {}", service.name, certificate.file).into(),
                certificate.names.join("\n").into(),
                certificate.kind.as_str().into(),
                if left == 0 { "expired".into() } else { span(left).into() },
                state,
            ]);
        }
    }
    table
}

fn pools(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("POOL"),
        right("SERVERS"),
        right("UP"),
        right("ERRORS"),
        left("BALANCE"),
    ]);
    for PoolStatus { name, balance, servers, errors, .. } in &status.pools {
        let up = servers.iter().filter(|server| server.state == ServerState::Up).count();
        table.row(vec![
            name.as_str().into(),
            servers.len().to_string().into(),
            up.to_string().into(),
            error_cell(errors),
            balance.as_str().into(),
        ]);
    }
    table
}

fn servers(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVER"),
        left("ADDRESS"),
        right("WEIGHT"),
        right("IN FLIGHT"),
        right("OPEN"),
        right("ERRORS"),
        left("STATE"),
    ]);
    for pool in &status.pools {
        for server in &pool.servers {
            table.row(vec![
                format!("{}/{}", pool.name, server.name).into(),
                address(server).into(),
                weight(server).into(),
                count(u64::from(server.in_flight)).into(),
                connections(server).into(),
                error_cell(&server.errors),
                state(server, status.now_unix_ms),
            ]);
        }
    }
    table
}

fn draining(status: &Status) -> TextTable {
    let mut table =
        TextTable::new(&[left("DRAINING"), right("CONNECTIONS"), right("IN FLIGHT"), left("WHY")]);
    for Draining { subject, reason, since_unix_ms, until_unix_ms, connections, in_flight } in
        &status.draining
    {
        let age = span(status.now_unix_ms.saturating_sub(*since_unix_ms));
        let left = until_unix_ms
            .map(|until| format!("; cut in {}", span(until.saturating_sub(status.now_unix_ms))))
            .unwrap_or_default();
        table.row(vec![
            subject.as_str().into(),
            count(*connections).into(),
            count(*in_flight).into(),
            format!("for {age}: {reason}{left}").into(),
        ]);
    }
    table
}

/// As configured, and below it where that is when it is a name.
fn address(server: &ServerStatus) -> String {
    match server.resolved.map(|address| address.to_string()) {
        Some(resolved) if resolved != server.address => format!("{}\n{resolved}", server.address),
        _ => server.address.clone(),
    }
}

/// In force, and the configured one when it differs.
fn weight(server: &ServerStatus) -> String {
    if server.weight == server.configured_weight {
        return server.weight.to_string();
    }
    format!("{} (file: {})", server.weight, server.configured_weight)
}

/// Open, and how many may be.
fn connections(server: &ServerStatus) -> String {
    let open = count(u64::from(server.connections));
    server
        .max_connections
        .map_or(open.clone(), |cap| format!("{open} of {}", count(u64::from(cap))))
}

/// `up 3m12s: http GET /healthz 200 in 1 ms`.
fn state(server: &ServerStatus, now_unix_ms: u64) -> TextCell {
    let Evidence { text, .. } = &server.reason;
    let age = span(now_unix_ms.saturating_sub(server.since_unix_ms));
    let colour = match server.state {
        ServerState::Up => Colour::Good,
        ServerState::Down => Colour::Bad,
        ServerState::Unknown => Colour::Doubt,
        ServerState::Drain | ServerState::Disabled => Colour::Quiet,
    };
    let (word, colour) = match server.assumed {
        true => ("assumed up", Colour::Doubt),
        false => (server.state.name(), colour),
    };
    TextCell::with_lead(word, colour, &format!(" {age}: {text}"))
}

fn service_colour(state: ServiceState) -> Colour {
    match state {
        ServiceState::Up => Colour::Good,
        ServiceState::Degraded => Colour::Doubt,
        ServiceState::Down => Colour::Bad,
        ServiceState::Draining => Colour::Quiet,
    }
}

#[cfg(test)]
mod tests;
