//! Readings become deltas, and deltas become time attribution.

use std::net::IpAddr;

use super::*;
use crate::limit::{Limit, TimeOwner};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn client(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A connection both of whose directions are seen: SYN at 1 s, answered after 20 ms, acknowledged after 30 more.
fn open(print: u64) -> FlowSample {
    let packets = FlowSideCounters { packets: 2, ..FlowSideCounters::default() };
    FlowSample {
        fingerprint: print,
        first_packet_at: SECOND,
        client: client(print as u8),
        port: 4_000,
        service: 7,
        server: 3,
        bidirectional: true,
        joined_late: false,
        ended: false,
        refused: false,
        syn: [SECOND; 2],
        syn_ack: [SECOND + 20 * MS; 2],
        ack: SECOND + 50 * MS,
        syns: [1, 1],
        scale: [FlowWindowScale::Known(7); 2],
        sides: [packets; 2],
    }
}

/// A tracker after an empty first reading.
fn following() -> FlowTracker {
    let mut follow = FlowTracker::default();
    assert!(follow.diff_samples(Vec::new(), 0).is_empty());
    follow
}

fn all(service: u32) -> FlowFilter {
    FlowFilter { service, servers: None, from: None, since: 0 }
}

#[test]
fn handshakes_are_reported_once_with_their_known_parts() {
    let both = |server, client, whole| Some(HandshakeDurations { server, client, total: whole });
    let half = FlowSample { bidirectional: false, syn_ack: [0; 2], syns: [1, 0], ..open(1) };
    let rows = [
        ("both", open(1), both(Some(20 * MS), Some(30 * MS), Some(50 * MS))),
        ("half", half.clone(), both(None, None, Some(50 * MS))),
        ("SYN twice", FlowSample { syns: [2, 1], ..open(1) }, both(None, Some(30 * MS), None)),
        (
            "answered twice",
            FlowSample { syns: [1, 2], ..open(1) },
            both(Some(20 * MS), None, Some(50 * MS)),
        ),
        ("half, SYN twice", FlowSample { syns: [2, 0], ..half }, both(None, None, None)),
        ("late", FlowSample { syn: [0; 2], joined_late: true, ack: 0, ..open(1) }, None),
        ("not done", FlowSample { ack: 0, ..open(1) }, None),
    ];
    for (text, seen, opened) in rows {
        let mut follow = following();
        let first = follow.diff_samples(vec![seen.clone()], 2 * SECOND);
        assert_eq!(first[0].handshake, opened, "{text}");
        let mut more = seen;
        more.sides[0].packets += 1;
        let later = follow.diff_samples(vec![more], 3 * SECOND);
        assert_eq!((later[0].handshake, later[0].begun), (None, false), "{text}: told twice");
    }
}

#[test]
fn stalled_handshakes_are_reported_once_by_the_silent_side() {
    let rows = [
        (
            "no answer",
            FlowSample { syn_ack: [0; 2], ack: 0, ..open(1) },
            Some(HandshakeStall::Server),
        ),
        ("no acknowledgement", FlowSample { ack: 0, ..open(1) }, Some(HandshakeStall::Client)),
        (
            "half",
            FlowSample { ack: 0, bidirectional: false, ..open(1) },
            Some(HandshakeStall::Either),
        ),
        ("ended", FlowSample { ack: 0, ended: true, ..open(1) }, None),
        ("done", open(1), None),
    ];
    for (text, seen, want) in rows {
        let mut follow = following();
        let young = follow.diff_samples(vec![seen.clone()], SECOND + 2_900 * MS);
        assert_eq!(young[0].stall, None, "{text}");
        let old = follow.diff_samples(vec![seen.clone()], SECOND + 3_000 * MS);
        assert_eq!(old.first().and_then(|delta| delta.stall), want, "{text}");
        assert!(follow.diff_samples(vec![seen], 9 * SECOND).is_empty(), "{text}: told twice");
    }
}

#[test]
fn flows_of_an_earlier_process_are_not_reported_again() {
    let mut follow = FlowTracker::default();
    assert!(follow.diff_samples(vec![open(1)], 2 * SECOND).is_empty());
    assert!(follow.diff_samples(vec![open(1)], 3 * SECOND).is_empty(), "nothing is new");
    let mut more = open(1);
    more.sides[1].retransmitted = 2;
    more.sides[1].packets += 2;
    let change = &follow.diff_samples(vec![more], 4 * SECOND)[0];
    assert_eq!((change.sides[1].retransmitted, change.sides[1].packets), (2, 2));
    assert_eq!((change.begun, change.handshake), (false, None));
    // The same addresses with another first packet are another connection.
    let change = &follow
        .diff_samples(vec![FlowSample { first_packet_at: 9 * SECOND, ..open(1) }], 10 * SECOND)[0];
    assert!(change.begun && change.handshake.is_some());
    assert!(follow.diff_samples(Vec::new(), 11 * SECOND).is_empty());
    assert_eq!(follow.tracked_count(), 0);
}

#[test]
fn time_belongs_to_who_stood_in_the_way() {
    let mut seen = open(1);
    seen.sides[0] = FlowSideCounters {
        packets: 9,
        zero_window: 1,
        zero_window_nanos: 300 * MS,
        loss_recovery_nanos: 10 * MS,
        ..seen.sides[0]
    };
    seen.sides[1] = FlowSideCounters {
        packets: 9,
        silly_window: 4,
        silly_window_nanos: 70 * MS,
        loss_recovery_nanos: 200 * MS,
        ..seen.sides[1]
    };
    let change = following().diff_samples(vec![seen], 2 * SECOND).remove(0);
    let bars = attribute_time(&change);
    let of = |owner, limit| {
        let fits = |bar: &&crate::time_attribution::TimeShare| {
            bar.owner == Some(owner) && bar.limit == limit
        };
        bars.all().iter().find(fits).map_or(0, |bar| bar.nanos / MS)
    };
    assert_eq!(of(TimeOwner::Client, Limit::ZeroWindow), 300);
    assert_eq!(of(TimeOwner::Server, Limit::SillyWindow), 70);
    assert_eq!(of(TimeOwner::Network, Limit::Loss), 210);
    assert_eq!(of(TimeOwner::Network, Limit::Connect), 50);
    assert_eq!(bars.total() / MS, 630);
}

#[test]
fn a_healthy_connection_is_blamed_for_nothing_but_opening() {
    let change = following().diff_samples(vec![open(1)], 2 * SECOND).remove(0);
    assert_eq!(attribute_time(&change).total(), 50 * MS);
}

#[test]
fn the_pile_joins_what_a_connection_showed_and_answers_by_server_and_network() {
    let mut pile = FlowDeltaStore::default();
    let mut follow = following();
    let mut slow = open(1);
    for second in 0..30 {
        slow.sides[0].packets += 1;
        slow.sides[0].zero_window_nanos += 100 * MS;
        let other = FlowSample { server: 4, client: client(200), ..open(2) };
        let readings = vec![slow.clone(), other];
        follow
            .diff_samples(readings, (2 + second) * SECOND)
            .into_iter()
            .for_each(|delta| pile.add(delta));
    }
    let report = pile.report(&all(7));
    assert_eq!((report.flows, report.begun, report.handshakes), (2, 2, 2));
    assert_eq!(report.sides[0].zero_window_nanos, 3_000 * MS);
    assert_eq!(
        report.whole,
        HandshakeSummary { count: 2, median: 50 * MS, most: 50 * MS, longest: 50 * MS }
    );
    assert_eq!(
        report.servers.iter().map(|group| group.key).collect::<Vec<_>>(),
        [Some(3), Some(4)]
    );
    assert_eq!(report.networks.len(), 1);
    assert_eq!(report.examples[0].client, client(1), "who stood still longest comes first");
    assert_eq!(pile.report(&all(8)), FlowReport::default());
    let few = FlowFilter { servers: Some(vec![4]), ..all(7) };
    assert_eq!(pile.report(&few).flows, 1);
    let from = FlowFilter { from: Some("192.0.2.200".parse().unwrap()), ..all(7) };
    assert_eq!(pile.report(&from).flows, 1);
    let since = FlowFilter { since: 25 * SECOND, ..all(7) };
    assert_eq!(pile.report(&since).handshakes, 0, "its handshake was before");
}

#[test]
fn the_pile_is_bounded_and_counts_what_finds_no_room() {
    let mut pile = FlowDeltaStore::default();
    let change = following().diff_samples(vec![open(1)], 0).remove(0);
    for slice in 0..10 {
        for print in 0..9_000 {
            pile.add(FlowDelta { fingerprint: print, at: slice * 10 * SECOND, ..change.clone() });
        }
    }
    assert!(pile.sample_count() <= MAX_SAMPLES, "{}", pile.sample_count());
    assert_eq!(pile.dropped(), 10 * (9_000 - 8_192));
    pile.add(FlowDelta { at: 4_000 * SECOND, ..change });
    assert_eq!(pile.sample_count(), 1, "an hour is enough");
}

proptest::proptest! {
    #[test]
    fn changes_sum_to_what_was_read(steps in proptest::collection::vec((0u64..5, 0u64..5, 0u64..1_000), 1..40)) {
        let mut follow = following();
        let mut seen = open(1);
        let mut sum = [FlowSideCounters::default(); 2];
        for (at, (packets, retransmitted, nanos)) in (2..).zip(steps) {
            seen.sides[0].packets += packets + 1;
            seen.sides[1].retransmitted += retransmitted;
            seen.sides[1].loss_recovery_nanos += nanos;
            for change in follow.diff_samples(vec![seen.clone()], at * SECOND) {
                sum.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
            }
        }
        proptest::prop_assert_eq!(sum, seen.sides);
    }
}
