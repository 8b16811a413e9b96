//! A frame as text: a table for a screen, or one line. Pure; drawing is `screen`'s.

use model::snapshot::ServerState;

use super::event_log::DemoLog;
use super::snapshot::{DemoFailures, DemoFrame, RecentRates, ServerRow};
use crate::show::paint::{Colour, Paint};
use crate::show::table::{TextCell, TextTable, left, right, wrap};
use crate::show::unit::{count, micros, rate, span};

/// Events below the table.
const NEWS: usize = 5;

/// Narrower screens show no reasons: the table must fit 24 lines.
const WIDE: usize = 104;

/// The explanation above the table, in two lines.
const EXPLANATION: &str = "\
Two services of this balancer stand in front of six servers of this process, under steady load of its own.\n\
Kill a server and watch: its work goes to the others, and no request fails.";

pub fn screen(frame: &DemoFrame, chronicle: &DemoLog, width: usize, paint: Paint) -> String {
    let mut out = String::new();
    for line in EXPLANATION.lines().flat_map(|line| wrap(line, width)) {
        out.push_str(&line);
        out.push('\n');
    }
    let keys = "keys: k kills a server   r revives it   q quits";
    out.push_str(&paint.text(Colour::Strong, keys));
    out.push_str("\n\n");
    out.push_str(&services(frame).render(width, paint));
    out.push('\n');
    out.push_str(&servers(frame, width >= WIDE).render(width, paint));
    out.push('\n');
    out.push_str(&render_result(frame, paint));
    out.push_str("\n\n");
    let news: Vec<String> =
        chronicle.events().rev().take(NEWS).map(|event| event.describe()).collect();
    for line in news.iter().rev().flat_map(|line| wrap(line, width)) {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// One line, for a log.
pub fn line(frame: &DemoFrame) -> String {
    let mut out = format!("{:>5.1} s", frame.at.as_secs_f64());
    for service in &frame.services {
        let p99 = micros_or_dash(service.recent.p99_us);
        let per_second = rate(service.recent.per_second);
        out.push_str(&format!("  {} {per_second}/s p99 {p99}", service.name));
    }
    let states = |wanted: ServerState| {
        let named = frame.servers.iter().filter(|server| server.state == wanted);
        named.map(|server| server.name.as_str()).collect::<Vec<_>>().join(" ")
    };
    let up = frame.servers.iter().filter(|server| server.state == ServerState::Up).count();
    out.push_str(&format!("  {up} of {} servers up", frame.servers.len()));
    for state in [ServerState::Down, ServerState::Unknown, ServerState::Drain] {
        let names = states(state);
        if !names.is_empty() {
            out.push_str(&format!(", {} {names}", state.name()));
        }
    }
    out.push_str(&format!("  failed requests: {}\n", count(frame.failed)));
    out
}

fn services(frame: &DemoFrame) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVICE"),
        left("FORWARD"),
        left("LISTENS ON"),
        right("ANSWERED/S"),
        right("IN FLIGHT"),
        right("P50"),
        right("P99"),
        right("FAILED"),
    ]);
    for service in &frame.services {
        let failed = count(service.failed);
        let colour = if service.failed == 0 { Colour::Good } else { Colour::Bad };
        let [per_second, p50, p99] = recent_cells(&service.recent);
        table.row(vec![
            service.name.into(),
            service.forward.into(),
            service.listen.to_string().into(),
            per_second,
            count(service.in_flight).into(),
            p50,
            p99,
            TextCell::coloured(failed, colour),
        ]);
    }
    table
}

fn servers(frame: &DemoFrame, why: bool) -> TextTable {
    let mut columns = vec![
        left("SERVER"),
        left("STATE"),
        right("FOR"),
        right("REQUESTS/S"),
        right("IN FLIGHT"),
        right("P50"),
        right("P99"),
        right("FAILURES"),
    ];
    columns.extend(why.then_some(left("WHY")));
    let mut table = TextTable::new(&columns);
    for server in &frame.servers {
        let [per_second, p50, p99] = recent_cells(&server.recent);
        let mut row = vec![
            server.name.as_str().into(),
            state_cell(server),
            span(u64::try_from(server.age.as_millis()).unwrap_or(u64::MAX)).into(),
            per_second,
            server.in_flight.to_string().into(),
            p50,
            p99,
            count(server.failures).into(),
        ];
        row.extend(why.then(|| server.reason.as_str().into()));
        table.row(row);
    }
    table
}

fn state_cell(server: &ServerRow) -> TextCell {
    let colour = match server.state {
        ServerState::Up if server.killed => Colour::Doubt,
        ServerState::Up => Colour::Good,
        ServerState::Unknown => Colour::Doubt,
        ServerState::Down => Colour::Bad,
        ServerState::Drain | ServerState::Disabled => Colour::Quiet,
    };
    let rest = if server.killed { ", killed" } else { "" };
    TextCell::with_lead(server.state.name(), colour, rest)
}

fn render_result(frame: &DemoFrame, paint: Paint) -> String {
    let colour = if frame.failed == 0 { Colour::Good } else { Colour::Bad };
    let failed = paint.text(colour, &format!("failed requests: {}", count(frame.failed)));
    let mut out = format!("{failed} of {}", count(frame.requests));
    for DemoFailures { cause, failed } in &frame.causes {
        out.push_str(&format!(", {} {cause}", count(*failed)));
    }
    out.push_str(&format!("; tried again by the balancer: {}", count(frame.retried)));
    out
}

fn recent_cells(recent: &RecentRates) -> [TextCell; 3] {
    [
        rate(recent.per_second).into(),
        micros_or_dash(recent.p50_us).into(),
        micros_or_dash(recent.p99_us).into(),
    ]
}

fn micros_or_dash(time: Option<u64>) -> String {
    time.map_or_else(|| "-".to_owned(), micros)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expect::{expect, fits};
    use crate::try_::script::DemoAction;
    use crate::try_::snapshot::ServiceRow;
    use std::net::SocketAddr;
    use std::time::{Duration, SystemTime};

    fn server(name: &str, state: ServerState, killed: bool, per_second: f64) -> ServerRow {
        let some = per_second > 0.0;
        let recent =
            RecentRates { per_second, p50_us: some.then_some(192), p99_us: some.then_some(1_250) };
        let reason = match state {
            ServerState::Down => "connection refused, 3 times",
            ServerState::Drain => "drained by try",
            _ => "http GET /healthz: 200",
        };
        ServerRow {
            name: name.to_owned(),
            state,
            age: Duration::from_millis(3_400),
            reason: reason.to_owned(),
            killed,
            recent,
            in_flight: u32::from(some),
            failures: u64::from(killed) * 3,
        }
    }

    fn frame(failed: u64) -> DemoFrame {
        let service = |name, forward, last, per_second| ServiceRow {
            name,
            forward,
            listen: SocketAddr::from(([127, 0, 0, last], 40_123)),
            recent: RecentRates { per_second, p50_us: Some(210), p99_us: Some(2_040) },
            in_flight: 3,
            failed: if name == "web" { failed } else { 0 },
        };
        DemoFrame {
            at: Duration::from_millis(12_250),
            services: vec![service("web", "http", 1, 1_000.4), service("echo", "tcp", 2, 200.0)],
            servers: vec![
                server("web/a", ServerState::Up, false, 334.0),
                server("web/b", ServerState::Down, true, 0.0),
                server("web/c", ServerState::Up, true, 333.3),
                server("web/d", ServerState::Drain, false, 0.0),
                server("echo/a", ServerState::Up, false, 99.9),
                server("echo/b", ServerState::Unknown, false, 100.1),
            ],
            requests: 14_702,
            failed,
            causes: match failed {
                0 => Vec::new(),
                failed => vec![DemoFailures { cause: "reset-before-answer", failed }],
            },
            retried: 4,
        }
    }

    fn chronicle() -> DemoLog {
        let mut chronicle = DemoLog::default();
        for second in 0..7 {
            let at = Duration::from_secs(second);
            let clock = SystemTime::UNIX_EPOCH;
            let deed = if second % 2 == 0 { DemoAction::Kill(1) } else { DemoAction::Revive(1) };
            chronicle.record_action(deed, "web/b", at, clock);
        }
        chronicle
    }

    #[test]
    fn screens() {
        let rows = [
            ("try.txt", frame(0), 120, Paint::fixed(false)),
            ("try-narrow.txt", frame(0), 80, Paint::fixed(false)),
            ("try-failed-colour.txt", frame(2), 120, Paint::fixed(true)),
        ];
        for (file, frame, width, paint) in rows {
            let text = screen(&frame, &chronicle(), width, paint);
            expect(file, &text);
            assert!(text.lines().count() <= 24, "{text}");
            if !file.contains("colour") {
                fits(&text, width);
            }
        }
    }

    #[test]
    fn lines() {
        assert_eq!(
            line(&frame(0)),
            " 12.2 s  web 1,000/s p99 2.0 ms  echo 200/s p99 2.0 ms  3 of 6 servers up, down web/b, \
             unknown echo/b, drain web/d  failed requests: 0\n"
        );
    }
}
