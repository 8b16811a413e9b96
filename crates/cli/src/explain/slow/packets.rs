//! Flow samples of a service that forwards packets, as text. Pure; every number comes from the daemon.

use api::types::{HandshakeTimes, Handshakes, PacketExample, PacketSide, SlowPackets};

use super::parts::{group_table, millis, render_owner_bars, render_reasons};
use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, moment};

pub fn render_service(service: &SlowPackets, window: &str, width: usize, paint: Paint) -> String {
    let name = plain(&service.name);
    let forward = plain(&service.forward);
    let title = format!("{name}: connections by {forward} in the last {window}");
    let mut out = format!("{}\n", paint.text(Colour::Strong, &title));
    let one_in = match service.sample {
        Some(1) => "every one is watched".to_owned(),
        Some(sample) => format!("one in {} is watched", count(u64::from(sample))),
        None => "none is watched any more".to_owned(),
    };
    let Handshakes { done, .. } = service.handshakes;
    out.push_str(&format!(
        "  {} watched, {} of them began, {} handshakes done; {one_in}\n  they stood still for {}\n\n",
        count(service.watched as u64),
        count(service.started as u64),
        count(done as u64),
        millis(service.seconds * 1e3)
    ));
    out.push_str(&render_owner_bars(&service.owners, width, paint));
    out.push_str("\nWhy\n");
    out.push_str(&render_reasons(&service.reasons));
    out.push('\n');
    out.push_str(&render_handshakes(service));
    out.push('\n');
    out.push_str(&render_sides(service).render(width, paint));
    out.push_str(&format!("  resets by this machine: {}\n", count(service.balancer_resets)));
    for (title, groups) in
        [("POOL", &service.pools), ("SERVER", &service.servers), ("CLIENTS", &service.networks)]
    {
        out.push('\n');
        out.push_str(&group_table(title, "CONNECTIONS", groups).render(width, paint));
    }
    if !service.examples.is_empty() {
        out.push_str("\nStood still longest, or ended badly\n");
        service.examples.iter().for_each(|example| out.push_str(&render_example(example)));
    }
    out.push_str("\nNot to be seen from here\n");
    service.limitations.iter().for_each(|text| out.push_str(&format!("  {}\n", plain(text))));
    let unknown = [
        (service.late, "were watched from the middle on"),
        (
            service.unscaled,
            "have windows whose scale was not seen: of them only closed ones are told",
        ),
    ];
    for (number, state) in unknown.iter().filter(|(number, _)| *number > 0) {
        out.push_str(&format!("  {} connections {state}\n", count(*number as u64)));
    }
    out.push('\n');
    out
}

fn render_handshakes(service: &SlowPackets) -> String {
    let all = &service.handshakes;
    let mut out = "Handshakes\n".to_owned();
    let parts = [
        ("to the server and back", all.server_part),
        ("to the client and back", all.client_part),
        ("whole", all.total),
    ];
    for (label, times) in parts {
        let Some(HandshakeTimes { median_ms, p95_ms, max_ms: longest_ms, .. }) = times else {
            continue;
        };
        out.push_str(&format!(
            "  {label:22}  median {}, 95 % within {}, longest {}\n",
            millis(median_ms),
            millis(p95_ms),
            millis(longest_ms)
        ));
    }
    let bad = [
        (all.unanswered, "not answered by the server"),
        (all.unacknowledged, "answered, and not acknowledged by the client"),
        (all.unfinished, "not done"),
        (all.refused, "refused by the server"),
    ];
    for (number, label) in bad.iter().filter(|(number, _)| *number > 0) {
        out.push_str(&format!("  {} {label}\n", count(*number as u64)));
    }
    out
}

/// The packets and windows of each side.
fn render_sides(service: &SlowPackets) -> TextTable {
    let mut table = TextTable::new(&[
        left("FROM"),
        right("PACKETS"),
        right("LOST BEFORE US"),
        right("LOST BEHIND US"),
        right("REORDERED"),
        right("WINDOW ZERO"),
        right("SILLY"),
        right("RESETS"),
    ]);
    let sides = [("client", Some(&service.client)), ("server", service.server.as_ref())];
    for (who, side) in sides {
        let Some(side) = side else { continue };
        let window = |packets: u64, ms: f64| match packets {
            0 => "0".to_owned(),
            _ => format!("{} ({})", count(packets), millis(ms)),
        };
        table.row(vec![
            who.into(),
            count(side.packets).into(),
            count(side.lost_before).into(),
            count(side.lost_behind).into(),
            count(side.reordered).into(),
            window(side.zero_windows, side.zero_window_ms).into(),
            window(side.silly_windows, side.silly_window_ms).into(),
            count(side.resets).into(),
        ]);
    }
    table
}

fn render_example(example: &PacketExample) -> String {
    let server = example.server.as_deref().unwrap_or("a server that is gone");
    let mut parts: Vec<_> = example.parts_ms.iter().collect();
    parts.sort_by(|a, b| b.1.total_cmp(a.1));
    let parts = parts.into_iter().map(|(name, time)| format!("{} {}", plain(name), millis(*time)));
    let mut out = format!(
        "  {}  {} from {} to {}\n    time    {}\n",
        moment(example.seen_unix_ms),
        millis(example.total_ms),
        plain(&example.client),
        plain(server),
        parts.collect::<Vec<_>>().join(", ")
    );
    for (who, side) in
        [("client", Some(&example.from_client)), ("server", example.from_server.as_ref())]
    {
        let Some(side) = side else { continue };
        out.push_str(&format!("    {who}  {}\n", describe_side(side)));
    }
    if !example.notes.is_empty() {
        out.push_str(&format!("    note    {}\n", plain(&example.notes.join(", "))));
    }
    out
}

fn describe_side(side: &PacketSide) -> String {
    format!(
        "{} packets; lost {} before and {} behind us, silent {} for that; window closed {}, silly {}; {} resets",
        count(side.packets),
        count(side.lost_before),
        count(side.lost_behind),
        millis(side.repair_ms),
        millis(side.zero_window_ms),
        millis(side.silly_window_ms),
        count(side.resets)
    )
}

#[cfg(test)]
mod tests {
    use api::types::{SlowOwner, SlowReason};

    use super::*;

    fn service() -> SlowPackets {
        let side = PacketSide {
            packets: 1_200,
            lost_behind: 3,
            zero_windows: 7,
            zero_window_ms: 1_500.0,
            ..PacketSide::default()
        };
        let times = |ms| Some(HandshakeTimes { count: 9, median_ms: ms, p95_ms: ms, max_ms: ms });
        SlowPackets {
            name: "shop".into(),
            forward: "nat".into(),
            both_directions: true,
            limitations: vec!["how long a server works".into()],
            sample: Some(64),
            watched: 12,
            started: 9,
            late: 3,
            unscaled: 3,
            handshakes: Handshakes {
                done: 9,
                server_part: times(20.0),
                client_part: times(30.0),
                total: times(50.0),
                refused: 2,
                ..Handshakes::default()
            },
            client: side,
            server: Some(PacketSide::default()),
            balancer_resets: 4,
            seconds: 1.5,
            owners: vec![SlowOwner { owner: "client".into(), seconds: 1.5, share_percent: 100.0 }],
            reasons: vec![SlowReason {
                owner: "client".into(),
                limit: "ZERO_WINDOW".into(),
                title: "a closed receive window".into(),
                seconds: 1.5,
                share_percent: 100.0,
                advice: "Read faster.".into(),
            }],
            examples: vec![PacketExample {
                client: "192.0.2.7:4000".into(),
                server: Some("web/a".into()),
                notes: vec!["reset-by-client".into()],
                ..PacketExample::default()
            }],
            ..SlowPackets::default()
        }
    }

    #[test]
    fn a_service_that_forwards_packets_has_a_story_too() {
        let text = render_service(&service(), "5m", 100, Paint::fixed(false));
        for part in [
            "shop: connections by nat in the last 5m",
            "12 watched, 9 of them began, 9 handshakes done; one in 64 is watched",
            "they stood still for 1.5 s",
            "100.0 %  client: a closed receive window (ZERO_WINDOW)",
            "to the server and back  median 20 ms",
            "2 refused by the server",
            "7 (1.5 s)",
            "resets by this machine: 4",
            "from 192.0.2.7:4000 to web/a",
            "note    reset-by-client",
            "how long a server works",
            "3 connections were watched from the middle on",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
    }

    #[test]
    fn of_direct_return_only_the_clients_half_is_shown() {
        let half = SlowPackets { forward: "mac".into(), server: None, ..service() };
        let text = render_service(&half, "5m", 100, Paint::fixed(false));
        assert!(!text.contains("\nserver "), "{text}");
        assert!(text.contains("\nclient "), "{text}");
    }
}
