//! A report as text: balances with their remainders, then discards, times, services, servers and ports. Pure.

mod names;
mod packets;
mod pools;
mod shared;
mod users;

use api::types::{
    Bytes, Counter, PhaseTimes, PoolReport, PortReport, Process, Report, ServerReport,
    ServiceCounts, ServiceReport,
};
use model::cause::Side;

use crate::outcome::CommandError;
use crate::pattern::{check_patterns, matches_any};
use crate::show::error_cell::error_cell;
use crate::show::paint::{Colour, Paint};
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::{bytes, count, micros, rate, signed, span};

/// Keeps services and pools of these names; everything without names.
pub fn select(mut report: Report, only: Option<&str>) -> Result<Report, CommandError> {
    let Some(list) = only else { return Ok(report) };
    let services = report.services.iter().map(|service| service.name.as_str());
    let names: Vec<&str> =
        services.chain(report.pools.iter().map(|pool| pool.name.as_str())).collect();
    check_patterns(list, &names)?;
    report.services.retain(|service| matches_any(list, &service.name));
    report.pools.retain(|pool| matches_any(list, &pool.name));
    if let Some(packets) = &mut report.packets {
        packets.services.retain(|service| matches_any(list, &service.name));
    }
    Ok(report)
}

/// As text for a screen of this width.
pub fn render(report: &Report, only: Option<&str>, width: usize, paint: Paint) -> String {
    let mut out = format!(
        "generation {}, up {}; totals since the start, /S and times over the last {}\n",
        report.generation,
        span(report.uptime_ms),
        span(report.interval_ms),
    );
    let mut block = |title: &str, table: &TextTable| {
        let text = table.render(width, paint);
        if !text.is_empty() {
            out.push('\n');
            if !title.is_empty() {
                out.push_str(&paint.text(Colour::Strong, title));
                out.push('\n');
            }
            out.push_str(&text);
        }
    };
    let mut detail = |title: &str, counts: &ServiceCounts| {
        block(title, &balances(counts));
        block("", &cause_table(counts));
        block("", &phase_table(&counts.phases));
    };
    match only {
        None => detail("all services", &report.total),
        Some(_) => {
            for service in &report.services {
                detail(&format!("service {} ({})", service.name, service.forward), &service.counts);
            }
        }
    }
    for service in &report.services {
        block("", &super::rules::rules(service, only.is_some(), report.now_unix_ms));
        block("", &super::rules::affinity(service));
    }
    if only.is_none() {
        block("", &services(&report.services));
    }
    block("", &users::users(&report.services));
    block("", &users::errors(&report.services));
    block("", &pools::costs(&report.pools));
    block("", &servers(&report.pools));
    block("", &connections(&report.pools));
    block("", &server_causes(&report.pools));
    if let Some(forwarded) = &report.packets {
        let all = if only.is_none() { &forwarded.outcomes[..] } else { &[] };
        if only.is_none() {
            block("", &packets::balance(forwarded));
        }
        block("", &packets::services(&forwarded.services));
        block("", &packets::flood_clients(&forwarded.services));
        block("", &packets::servers(&forwarded.services));
        block("", &packets::outcomes(all, &forwarded.services));
        block("", &packets::removals(&forwarded.services));
    }
    if only.is_none() {
        block("", &names::balances(&report.names));
        block("", &shared::members(&report.members));
        block("", &shared::changes(&report.members, report.now_unix_ms));
        block("", &shared::peers(&report.peers));
        block("", &ports(&report.ports));
        out.push('\n');
        out.push_str(&process(&report.process));
    }
    out
}

/// Arrivals, results, and the difference between them.
fn balances(counts: &ServiceCounts) -> TextTable {
    let mut table = TextTable::new(&[left(""), right("TOTAL"), right("/S")]);
    let mut line = |name: &str, counter: Counter| {
        table.row(vec![name.into(), count(counter.total).into(), rate(counter.rate).into()]);
    };
    let ServiceCounts { connections, requests, errors, statuses, .. } = counts;
    line("connections accepted", connections.accepted);
    line("  of these refused at a limit", connections.refused);
    line("  closed", connections.closed);
    table.row(vec!["  open now".into(), count(connections.open).into()]);
    table.row(vec!["  unaccounted".into(), remainder(connections.unaccounted)]);
    let mut line = |name: &str, counter: Counter| {
        table.row(vec![name.into(), count(counter.total).into(), rate(counter.rate).into()]);
    };
    line("requests", requests.requests);
    line("  answered by servers", requests.answered);
    line("  answered by the balancer", requests.local_replies);
    line("  aborted", requests.aborted);
    table.row(vec!["  in flight now".into(), count(requests.in_flight).into()]);
    table.row(vec!["  unaccounted".into(), remainder(requests.unaccounted)]);
    let mut line = |name: &str, counter: Counter| {
        table.row(vec![name.into(), count(counter.total).into(), rate(counter.rate).into()]);
    };
    line("errors", errors.errors);
    let mut some = |name: &str, counter: Counter| {
        if counter.total > 0 {
            table.row(vec![name.into(), count(counter.total).into(), rate(counter.rate).into()]);
        }
    };
    some("  complete 5xx of servers", errors.server_5xx);
    some("  failed servers", errors.server);
    some("  unreachable servers", errors.network);
    some("  balancer", errors.balancer);
    some("client aborts", errors.client);
    some("requests that became tunnels", requests.upgraded);
    some("answers 1xx passed on", statuses.informational);
    some("answers 2xx", statuses.success);
    some("answers 3xx", statuses.redirect);
    some("answers 4xx", statuses.client_error);
    some("answers 5xx", statuses.server_error);
    some("retries", counts.retried);
    some("replays after a stale connection", counts.replayed);
    let Bytes { received, sent, spliced } = &counts.bytes;
    for (name, counter) in [
        ("received from clients", received),
        ("sent to clients", sent),
        ("  of both, spliced by the kernel", spliced),
    ] {
        let a_second = bytes(counter.rate.max(0.0).round() as u64);
        table.row(vec![name.into(), bytes(counter.total).into(), a_second.into()]);
    }
    table
}

/// The difference that a balance cannot explain; coloured unless zero.
fn remainder(unaccounted: i64) -> TextCell {
    let text = signed(unaccounted);
    if unaccounted == 0 { text.into() } else { TextCell::coloured(text, Colour::Bad) }
}

/// The causes of exchanges that did not end well.
fn cause_table(counts: &ServiceCounts) -> TextTable {
    let mut table = TextTable::new(&[left("CAUSE"), right("TOTAL"), right("/S"), left("ORIGIN")]);
    let mut line = |name: &str, counter: Counter, because: &str| {
        table.row(vec![
            name.into(),
            count(counter.total).into(),
            rate(counter.rate).into(),
            because.into(),
        ]);
    };
    for cause in &counts.causes {
        line(&cause.cause, cause.count, side(cause.side));
    }
    for defect in &counts.defects {
        line(
            &format!("  {}", defect.name),
            defect.count,
            "client: part of the above, by HTTP rule",
        );
    }
    for limit in &counts.limits {
        line(&limit.name, limit.count, "balancer: a limit");
    }
    table
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Balancer => "balancer",
        Side::Server => "server",
        Side::Network => "network",
    }
}

fn phase_table(phases: &[PhaseTimes]) -> TextTable {
    let mut table = TextTable::new(&[
        left("TIME"),
        right("COUNT"),
        right("MEAN"),
        right("P50"),
        right("P90"),
        right("P99"),
    ]);
    for phase in phases {
        table.row(vec![
            phase.phase.as_str().into(),
            count(phase.count).into(),
            format_time(phase.mean_us).into(),
            format_time(phase.p50_us).into(),
            format_time(phase.p90_us).into(),
            format_time(phase.p99_us).into(),
        ]);
    }
    table
}

fn format_time(micros_or_none: Option<u64>) -> String {
    micros_or_none.map_or_else(|| "-".to_owned(), micros)
}

/// One quantile of the whole exchange.
fn total_quantile(phases: &[PhaseTimes], quantile: fn(&PhaseTimes) -> Option<u64>) -> String {
    format_time(phases.iter().find(|phase| phase.phase == "total").and_then(quantile))
}

fn services(services: &[ServiceReport]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVICE"),
        right("REQUESTS"),
        right("/S"),
        right("ANSWERED"),
        right("BALANCER"),
        right("ABORTED"),
        right("ERRORS"),
        right("IN FLIGHT"),
        right("UNACCOUNTED"),
        right("P50"),
        right("P99"),
    ]);
    for ServiceReport { name, counts, .. } in services {
        let requests = &counts.requests;
        table.row(vec![
            name.as_str().into(),
            count(requests.requests.total).into(),
            rate(requests.requests.rate).into(),
            count(requests.answered.total).into(),
            count(requests.local_replies.total).into(),
            count(requests.aborted.total).into(),
            error_cell(&counts.errors),
            count(requests.in_flight).into(),
            remainder(requests.unaccounted),
            total_quantile(&counts.phases, |phase| phase.p50_us).into(),
            total_quantile(&counts.phases, |phase| phase.p99_us).into(),
        ]);
    }
    table
}

fn servers_by_pool(pools: &[PoolReport]) -> impl Iterator<Item = (String, &ServerReport)> {
    pools.iter().flat_map(|pool| {
        pool.servers.iter().map(|server| (format!("{}/{}", pool.name, server.name), server))
    })
}

fn servers(pools: &[PoolReport]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVER"),
        right("REQUESTS"),
        right("/S"),
        right("ANSWERED"),
        right("5XX"),
        right("ERRORS"),
        right("IN FLIGHT"),
        right("RECEIVED"),
        right("SENT"),
        right("P50"),
        right("P99"),
        left("STATE"),
    ]);
    for (name, server) in servers_by_pool(pools) {
        table.row(vec![
            name.into(),
            count(server.requests.total).into(),
            rate(server.requests.rate).into(),
            count(server.answered.total).into(),
            count(server.statuses.server_error.total).into(),
            error_cell(&server.errors),
            count(u64::from(server.in_flight)).into(),
            bytes(server.bytes.received.total).into(),
            bytes(server.bytes.sent.total).into(),
            total_quantile(&server.phases, |phase| phase.p50_us).into(),
            total_quantile(&server.phases, |phase| phase.p99_us).into(),
            server.state.name().into(),
        ]);
    }
    table
}

fn connections(pools: &[PoolReport]) -> TextTable {
    let mut table = TextTable::new(&[
        left("CONNECTIONS TO"),
        right("TRIED"),
        right("/S"),
        right("FAILED"),
        right("OPEN"),
        right("REUSED"),
        right("STALE"),
        right("RETIRED"),
    ]);
    for (name, server) in servers_by_pool(pools) {
        table.row(vec![
            name.into(),
            count(server.connects.total).into(),
            rate(server.connects.rate).into(),
            count(server.connect_failed.total).into(),
            count(u64::from(server.connections)).into(),
            count(server.reused.total).into(),
            count(server.stale.total).into(),
            count(server.retired.total).into(),
        ]);
    }
    table
}

fn server_causes(pools: &[PoolReport]) -> TextTable {
    let mut table =
        TextTable::new(&[left("FAILED AT"), left("CAUSE"), right("TOTAL"), right("/S")]);
    for (name, server) in servers_by_pool(pools) {
        for cause in &server.causes {
            table.row(vec![
                name.as_str().into(),
                cause.cause.as_str().into(),
                count(cause.count.total).into(),
                rate(cause.count.rate).into(),
            ]);
        }
    }
    table
}

fn ports(ports: &[PortReport]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SOURCE PORTS FROM"),
        left("TO"),
        right("IN USE"),
        right("RESTING"),
        right("LEFT"),
    ]);
    for port in ports {
        table.row(vec![
            port.source
                .map_or_else(|| "any address".to_owned(), |source| source.to_string())
                .into(),
            port.destination.to_string().into(),
            count(u64::from(port.in_use)).into(),
            count(u64::from(port.time_wait)).into(),
            count(u64::from(port.free)).into(),
        ]);
    }
    table
}

fn process(process: &Process) -> String {
    format!(
        "descriptors {} of {}; access log lines dropped {}\n\
         memory: resident {}, held for slow receivers {}; in the kernel: pipes {}, TCP {}\n",
        count(process.descriptors.in_use),
        count(process.descriptors.limit),
        count(process.log_lines_dropped.total),
        bytes(process.resident_bytes),
        bytes(process.buffered_bytes),
        bytes(process.piped_bytes),
        bytes(process.kernel_tcp_bytes),
    )
}

#[cfg(test)]
mod tests;
