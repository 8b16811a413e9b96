//! `steelyard explain slow`: whose time the slowest exchanges took, why, and what to change; for services that forward
//! packets, whose time it is that watched connections stood still.
//!
//! Every number comes from the daemon; nothing is calculated here.

mod failures;
mod packets;
mod parts;

use std::process::ExitCode;
use std::time::Duration;

use api::types::{SlowExample, SlowExplained, SlowQuery, SlowService};

use self::parts::{group_table, millis, render_owner_bars, render_reasons};
use crate::common_args::{DaemonArgs, block_on, span as parse_span};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::screen;
use crate::show::unit::{count, micros, moment, span};

/// Explain the slowest requests: client, network, balancer or server, and why.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard explain slow                       the slowest 1 % of the last five minutes, by service
  steelyard explain slow shop --share 5%
  steelyard explain slow shop --since 30s --server web/a
  steelyard explain slow --from 192.0.2.0/24   for clients of one network
  steelyard explain slow shop --watch          again every two seconds, until Ctrl-C
  steelyard explain slow --json

Of a service that forwards packets (mac, tunnel, nat), one connection in `flow-samples` of [packets] is
sampled; --share has no effect there.")]
pub struct ExplainSlowArgs {
    /// Only this service.
    service: Option<String>,
    /// Share of the slowest exchanges.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%")]
    share: f64,
    /// Only exchanges within this time.
    #[arg(long, value_name = "TIME", value_parser = parse_span, default_value = "5m")]
    since: Duration,
    /// Only exchanges of this server; POOL for all servers of a pool.
    #[arg(long, value_name = "POOL[/NAME]")]
    server: Option<String>,
    /// Only clients of this network, or this client.
    #[arg(long, value_name = "NETWORK")]
    from: Option<String>,
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ExplainSlowArgs) -> ExitCode {
    finish(args.contact.json, block_on(show(args)))
}

async fn show(args: &ExplainSlowArgs) -> Result<CommandOutcome, CommandError> {
    let query = SlowQuery {
        service: args.service.clone(),
        share_percent: Some(args.share),
        since_ms: Some(u64::try_from(args.since.as_millis()).unwrap_or(u64::MAX)),
        server: args.server.clone(),
        from: args.from.clone(),
    };
    let client = args.contact.client()?;
    let ask = || async { Ok(client.explain_slow(&query).await?) };
    let show = |explained: &SlowExplained| {
        render_explanation(explained, screen::width(), Paint::for_stdout())
    };
    show_or_watch(args.again, args.contact.json, ask, show).await
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 100.0 => Ok(share),
        _ => Err(format!(
            "'{text}' is no share; expected a percentage above 0 and at most 100, as 1%"
        )),
    }
}

fn render_explanation(explained: &SlowExplained, width: usize, paint: Paint) -> String {
    let mut out = String::new();
    if explained.sample.is_none() {
        out.push_str("Nothing is measured: `sample` of [global] is off.\n");
    }
    let window = span(explained.now_unix_ms.saturating_sub(explained.since_unix_ms));
    if explained.services.is_empty() && explained.packets.is_empty() {
        out.push_str(&format!(
            "No exchange was measured and no connection watched in the last {window}.\n"
        ));
    }
    for service in &explained.services {
        out.push_str(&render_service(service, explained.share_percent, &window, width, paint));
    }
    for service in &explained.packets {
        out.push_str(&packets::render_service(service, &window, width, paint));
    }
    if explained.dropped > 0 {
        let dropped = count(explained.dropped);
        out.push_str(&format!("{dropped} measured exchanges were dropped since the start.\n"));
    }
    out
}

fn render_service(
    service: &SlowService,
    share: f64,
    window: &str,
    width: usize,
    paint: Paint,
) -> String {
    let exchanges = service.exchanges.round() as u64;
    // All were measured: nothing is estimated.
    let about = if service.sampled as u64 >= exchanges { "" } else { "about " };
    let title = format!(
        "{}: the slowest {share} % of {about}{} exchanges in the last {window}",
        plain(&service.name),
        count(exchanges)
    );
    let mut out = format!("{}\n", paint.text(Colour::Strong, &title));
    out.push_str(&failures::render_failures(&service.failures, width, paint));
    if service.measured == 0 {
        out.push_str("  none of them was measured\n\n");
        return out;
    }
    out.push_str(&format!(
        "  {about}{} took {} or longer, {} in all; {} of {} exchanges were measured\n\n",
        count(service.slowest.round() as u64),
        millis(service.min_ms),
        millis(service.seconds * 1e3),
        count(service.sampled as u64),
        count(exchanges)
    ));
    out.push_str(&render_owner_bars(&service.owners, width, paint));
    out.push_str("\nWhy\n");
    out.push_str(&render_reasons(&service.reasons));
    for (title, groups) in
        [("POOL", &service.pools), ("SERVER", &service.servers), ("CLIENTS", &service.networks)]
    {
        out.push('\n');
        out.push_str(&group_table(title, "EXCHANGES", groups).render(width, paint));
    }
    if let Some(client) = &service.largest_client {
        out.push_str(&format!(
            "\nConnections\n  {} are open; {} has most of them, {}\n",
            count(service.connections.into()),
            plain(client),
            count(service.largest_client_connections.into())
        ));
    }
    out.push_str("\nThe slowest\n");
    service.examples.iter().for_each(|example| out.push_str(&render_example(example)));
    out.push('\n');
    out
}

/// One exchange with its evidence.
fn render_example(example: &SlowExample) -> String {
    let server = example.server.as_deref().unwrap_or("no server");
    let end = match (&example.cause, example.status) {
        (Some(cause), 0) => plain(cause),
        (Some(cause), status) => format!("{status}, {}", plain(cause)),
        (None, 0) => "ended in order".to_owned(),
        (None, status) => status.to_string(),
    };
    let list = |times: &std::collections::BTreeMap<String, f64>| {
        let mut all: Vec<_> = times.iter().collect();
        all.sort_by(|a, b| b.1.total_cmp(a.1));
        let all = all.into_iter().map(|(name, time)| format!("{} {}", plain(name), millis(*time)));
        all.collect::<Vec<_>>().join(", ")
    };
    let mut out = format!(
        "  {}  {}  {} from {} by {}: {end}\n",
        plain(&example.id),
        moment(example.ended_unix_ms),
        millis(example.total_ms),
        plain(&example.client),
        plain(server),
    );
    out.push_str(&format!(
        "    phases  {}\n    time    {}\n",
        list(&example.phases_ms),
        list(&example.parts_ms)
    ));
    for (side, tcp) in [("client", &example.client_tcp), ("server", &example.server_tcp)] {
        let Some(tcp) = tcp else { continue };
        let own = if tcp.own { "" } else { "; exchanges before it are in this too" };
        out.push_str(&format!(
            "    {side}  busy {}, stopped by its window {}, by our buffer {}; round trip {} (least {}); \
             {} sent again, {} out of order{own}\n",
            micros(tcp.busy_us),
            micros(tcp.rwnd_limited_us),
            micros(tcp.sndbuf_limited_us),
            micros(u64::from(tcp.rtt_us)),
            micros(u64::from(tcp.min_rtt_us)),
            count(u64::from(tcp.retransmits)),
            count(u64::from(tcp.out_of_order)),
        ));
    }
    if !example.notes.is_empty() {
        out.push_str(&format!("    note    {}\n", plain(&example.notes.join(", "))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        assert_eq!(percent("1%"), Ok(1.0));
        assert_eq!(percent("0.5"), Ok(0.5));
        for text in ["0", "101%", "", "x", "-1", "nan"] {
            assert!(percent(text).unwrap_err().contains("no share"), "{text}");
        }
    }

    #[test]
    fn the_story_of_a_service_reads_from_top_to_bottom() {
        let json = r#"{
            "now-unix-ms": 300000, "since-unix-ms": 0, "share-percent": 1.0, "sample": 64, "dropped": 3,
            "services": [{
                "name": "shop", "threshold-ms": 100.0, "exchanges": 12300.0, "sampled": 315, "slowest": 123.0, "measured": 123,
                "min-ms": 480.0, "seconds": 60.0,
                "owners": [
                    {"owner": "client", "seconds": 45.0, "share-percent": 75.0},
                    {"owner": "network", "seconds": 15.0, "share-percent": 25.0},
                    {"owner": "server", "seconds": 0.0, "share-percent": 0.0},
                    {"owner": "balancer", "seconds": 0.0, "share-percent": 0.0},
                    {"owner": "unknown", "seconds": 0.0, "share-percent": 0.0}],
                "reasons": [{"owner": "client", "limit": "RWND", "title": "the receive window", "seconds": 45.0,
                    "share-percent": 75.0, "advice": "Read faster."}],
                "connections": 1000, "largest-client": "192.0.2.7", "largest-client-connections": 812,
                "pools": [], "networks": [],
                "servers": [{"name": "web/a", "exchanges": 123.0, "seconds": 60.0, "owner": "client", "limit": "RWND"}],
                "examples": [{"id": "0040000000000005", "ended-unix-ms": 0, "client": "192.0.2.7", "server": "web/a",
                    "status": 200, "cause": null, "attempts": 1, "total-ms": 1500.0, "phases-ms": {"body-out": 1490.0},
                    "parts-ms": {"client/RWND": 1400.0, "network/CWND": 100.0}, "notes": ["reused"],
                    "client-tcp": {"busy-us": 1500000, "rwnd-limited-us": 1400000, "sndbuf-limited-us": 0,
                        "bytes-acked": 1, "bytes-received": 1, "delivery-rate": 1, "retransmits": 2, "out-of-order": 0,
                        "rtt-us": 2000, "min-rtt-us": 1000, "not-sent": 0, "window": 1, "cwnd": 1, "ssthresh": 1,
                        "mss": 1, "own": true},
                    "server-tcp": null}]
            }]
        }"#;
        let explained: SlowExplained = serde_json::from_str(json).unwrap();
        let text = render_explanation(&explained, 80, Paint::fixed(false));
        for part in [
            "shop: the slowest 1 % of about 12,300 exchanges in the last 5m",
            "about 123 took 480 ms or longer, 60.0 s in all; 315 of 12,300 exchanges were measured",
            "client    ##############################",
            "75.0 %  client: the receive window (RWND)",
            "Read faster.",
            "web/a",
            "0040000000000005  1970-01-01 00:00:00Z  1.5 s from 192.0.2.7 by web/a: 200",
            "time    client/RWND 1.4 s, network/CWND 100 ms",
            "stopped by its window 1.4 s",
            "note    reused",
            "1,000 are open; 192.0.2.7 has most of them, 812",
            "3 measured exchanges were dropped",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert!(!text.contains("balancer"), "{text}");
    }
}
