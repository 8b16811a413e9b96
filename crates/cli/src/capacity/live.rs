//! `steelyard capacity --live`: the daemon's report of its own limits, as tables.
//!
//! It calculates nothing.

use std::time::Duration;

use api::ApiClient;
use api::types::{Capacity, CapacityService};

use crate::common_args::DaemonAddressArgs;
use crate::outcome::{CommandError, CommandOutcome, json_line, print_json};
use crate::refresh::redraw_every;
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::rate;

/// Rates need two looks; a shorter step would show noise.
const STEP: Duration = Duration::from_secs(2);
/// From so much on a limit is coloured.
const MUCH: f64 = 80.0;

pub async fn show_live(
    place: &DaemonAddressArgs,
    again: bool,
    json: bool,
) -> Result<CommandOutcome, CommandError> {
    let client = place.client()?;
    if again {
        return redraw_every(STEP, !json, || fetch_and_render(&client, json)).await;
    }
    if json {
        print_json(&client.capacity().await?)?;
    } else {
        screen::print(&fetch_and_render(&client, false).await?)?;
    }
    Ok(CommandOutcome::Done)
}

async fn fetch_and_render(client: &ApiClient, json: bool) -> Result<String, CommandError> {
    let capacity = client.capacity().await?;
    if json {
        return json_line(&capacity);
    }
    Ok(render(&capacity, screen::width(), Paint::for_stdout()))
}

fn render(capacity: &Capacity, width: usize, paint: Paint) -> String {
    let machine = &capacity.machine;
    let cost = machine.request_us.map_or_else(
        || "too few requests to measure CPU time per request".to_owned(),
        |cost| format!("{cost:.1} µs of CPU time per request"),
    );
    let mut out = format!(
        "{} CPUs, {} file descriptors, {} ports per address; {cost}\n\n",
        machine.processors, machine.descriptors, machine.ports
    );
    if capacity.services.is_empty() {
        out.push_str("no service is configured\n");
    }
    let texts: Vec<String> =
        capacity.services.iter().map(|service| render_service(service, width, paint)).collect();
    out.push_str(&texts.join("\n"));
    out
}

fn render_service(service: &CapacityService, width: usize, paint: Paint) -> String {
    let now = &service.demand;
    let name = paint.text(Colour::Strong, &service.name);
    let mut out = format!(
        "{name} ({}): {} requests/s, {} connections/s now; ",
        service.forward,
        rate(now.requests_per_second),
        rate(now.connections_per_second)
    );
    out.push_str(&if now.measured {
        format!(
            "measured: requests of {:.0} B, responses of {:.0} B, {:.1} requests per connection, {:.1} per connection to a \
             server\n",
            now.request_bytes, now.response_bytes, now.requests_per_connection, now.requests_per_server_connection
        )
    } else {
        "no traffic yet: the forecast uses typical values\n".to_owned()
    });
    let mut table = TextTable::new(&[
        left("limit"),
        right("used"),
        right("requests/s"),
        right("connections/s"),
        left("because"),
    ]);
    for limit in &service.limits {
        let used = format!("{:.1} %", limit.used_percent);
        let used: TextCell = if limit.used_percent >= MUCH {
            TextCell::coloured(used, Colour::Doubt)
        } else {
            used.into()
        };
        table.row(vec![
            limit.kind.clone().into(),
            used,
            rate(limit.requests_per_second).into(),
            rate(limit.connections_per_second).into(),
            limit.reason.clone().into(),
        ]);
    }
    out.push_str(&table.render(width, paint));
    if let Some(first) = service.limits.first() {
        out.push_str(&format!("first: {}; to raise it: {}\n", first.kind, first.advice));
    }
    out
}

#[cfg(test)]
mod tests {
    use api::types::{CapacityDemand, CapacityLimit, CapacityMachine};

    use super::*;

    fn capacity(measured: bool) -> Capacity {
        Capacity {
            now_unix_ms: 1,
            interval_ms: 1_000,
            machine: CapacityMachine {
                processors: 2,
                descriptors: 1_024,
                ports: 28_232,
                request_us: measured.then_some(40.0),
            },
            services: vec![CapacityService {
                name: "shop".into(),
                forward: "http".into(),
                demand: CapacityDemand {
                    measured,
                    requests_per_second: 900.0,
                    connections_per_second: 9.0,
                    request_bytes: 300.0,
                    response_bytes: 2_000.0,
                    requests_per_connection: 100.0,
                    requests_per_server_connection: 50.0,
                    connection_duration_ms: 2_000.0,
                },
                limits: vec![CapacityLimit {
                    kind: "ports".into(),
                    requests_per_second: 1_000.0,
                    connections_per_second: 10.0,
                    used_percent: 90.0,
                    reason: "few".into(),
                    advice: "add addresses".into(),
                }],
            }],
        }
    }

    #[test]
    fn use_and_advice_are_shown() {
        let text = render(&capacity(true), 120, Paint::off());
        for part in ["shop (http)", "90.0 %", "40.0 µs", "first: ports; to raise it: add addresses"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(render(&capacity(false), 120, Paint::off()).contains("typical values"));
    }
}
