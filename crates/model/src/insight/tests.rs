//! Readings become changes, changes become whose time it was.

use std::net::IpAddr;

use super::*;
use crate::limit::{Limit, Owner};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

fn client(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A connection both of whose directions are seen: SYN at 1 s, answered after 20 ms, acknowledged after 30 more.
fn open(print: u64) -> Seen {
    let packets = Told { packets: 2, ..Told::default() };
    Seen {
        print,
        born: SECOND,
        client: client(print as u8),
        port: 4_000,
        service: 7,
        server: 3,
        both: true,
        late: false,
        ended: false,
        refused: false,
        syn: [SECOND; 2],
        syn_ack: [SECOND + 20 * MS; 2],
        ack: SECOND + 50 * MS,
        syns: [1, 1],
        scale: [Scale::Known(7); 2],
        sides: [packets; 2],
    }
}

/// Follows what comes after an empty first reading.
fn following() -> Follow {
    let mut follow = Follow::default();
    assert!(follow.changes(Vec::new(), 0).is_empty());
    follow
}

fn all(service: u32) -> Filter {
    Filter { service, servers: None, from: None, since: 0 }
}

#[test]
fn handshakes_are_told_once_and_in_the_parts_that_are_known() {
    let both = |server, client, whole| Some(Opened { server, client, whole });
    let half = Seen { both: false, syn_ack: [0; 2], syns: [1, 0], ..open(1) };
    let rows = [
        ("both", open(1), both(Some(20 * MS), Some(30 * MS), Some(50 * MS))),
        ("half", half.clone(), both(None, None, Some(50 * MS))),
        ("SYN twice", Seen { syns: [2, 1], ..open(1) }, both(None, Some(30 * MS), None)),
        (
            "answered twice",
            Seen { syns: [1, 2], ..open(1) },
            both(Some(20 * MS), None, Some(50 * MS)),
        ),
        ("half, SYN twice", Seen { syns: [2, 0], ..half }, both(None, None, None)),
        ("late", Seen { syn: [0; 2], late: true, ack: 0, ..open(1) }, None),
        ("not done", Seen { ack: 0, ..open(1) }, None),
    ];
    for (text, seen, opened) in rows {
        let mut follow = following();
        let first = follow.changes(vec![seen.clone()], 2 * SECOND);
        assert_eq!(first[0].opened, opened, "{text}");
        let mut more = seen;
        more.sides[0].packets += 1;
        let later = follow.changes(vec![more], 3 * SECOND);
        assert_eq!((later[0].opened, later[0].begun), (None, false), "{text}: told twice");
    }
}

#[test]
fn handshakes_that_are_not_done_are_told_once_by_who_was_silent() {
    let rows = [
        ("no answer", Seen { syn_ack: [0; 2], ack: 0, ..open(1) }, Some(Unfinished::Server)),
        ("no acknowledgement", Seen { ack: 0, ..open(1) }, Some(Unfinished::Client)),
        ("half", Seen { ack: 0, both: false, ..open(1) }, Some(Unfinished::Either)),
        ("ended", Seen { ack: 0, ended: true, ..open(1) }, None),
        ("done", open(1), None),
    ];
    for (text, seen, want) in rows {
        let mut follow = following();
        let young = follow.changes(vec![seen.clone()], SECOND + 2_900 * MS);
        assert_eq!(young[0].unfinished, None, "{text}");
        let old = follow.changes(vec![seen.clone()], SECOND + 3_000 * MS);
        assert_eq!(old.first().and_then(|it| it.unfinished), want, "{text}");
        assert!(follow.changes(vec![seen], 9 * SECOND).is_empty(), "{text}: told twice");
    }
}

#[test]
fn what_an_earlier_process_saw_is_not_told_again() {
    let mut follow = Follow::default();
    assert!(follow.changes(vec![open(1)], 2 * SECOND).is_empty());
    assert!(follow.changes(vec![open(1)], 3 * SECOND).is_empty(), "nothing is new");
    let mut more = open(1);
    more.sides[1].again = 2;
    more.sides[1].packets += 2;
    let change = &follow.changes(vec![more], 4 * SECOND)[0];
    assert_eq!((change.sides[1].again, change.sides[1].packets), (2, 2));
    assert_eq!((change.begun, change.opened), (false, None));
    // The same ends with another beginning are another connection.
    let change = &follow.changes(vec![Seen { born: 9 * SECOND, ..open(1) }], 10 * SECOND)[0];
    assert!(change.begun && change.opened.is_some());
    assert!(follow.changes(Vec::new(), 11 * SECOND).is_empty());
    assert_eq!(follow.watched(), 0);
}

#[test]
fn time_belongs_to_who_stood_in_the_way() {
    let mut seen = open(1);
    seen.sides[0] =
        Told { packets: 9, zero: 1, zero_nanos: 300 * MS, loss_nanos: 10 * MS, ..seen.sides[0] };
    seen.sides[1] =
        Told { packets: 9, silly: 4, silly_nanos: 70 * MS, loss_nanos: 200 * MS, ..seen.sides[1] };
    let change = following().changes(vec![seen], 2 * SECOND).remove(0);
    let bars = judge(&change);
    let of = |owner, limit| {
        let fits = |bar: &&crate::attribute::Bar| bar.owner == Some(owner) && bar.limit == limit;
        bars.all().iter().find(fits).map_or(0, |bar| bar.nanos / MS)
    };
    assert_eq!(of(Owner::Client, Limit::ZeroWindow), 300);
    assert_eq!(of(Owner::Server, Limit::SillyWindow), 70);
    assert_eq!(of(Owner::Network, Limit::Loss), 210);
    assert_eq!(of(Owner::Network, Limit::Connect), 50);
    assert_eq!(bars.total() / MS, 630);
}

#[test]
fn a_healthy_connection_is_blamed_for_nothing_but_opening() {
    let change = following().changes(vec![open(1)], 2 * SECOND).remove(0);
    assert_eq!(judge(&change).total(), 50 * MS);
}

#[test]
fn the_pile_joins_what_a_connection_showed_and_answers_by_server_and_network() {
    let (mut pile, mut follow) = (Pile::default(), following());
    let mut slow = open(1);
    for second in 0..30 {
        slow.sides[0].packets += 1;
        slow.sides[0].zero_nanos += 100 * MS;
        let other = Seen { server: 4, client: client(200), ..open(2) };
        let readings = vec![slow.clone(), other];
        follow.changes(readings, (2 + second) * SECOND).into_iter().for_each(|it| pile.add(it));
    }
    let found = pile.found(&all(7));
    assert_eq!((found.watched, found.begun, found.opened), (2, 2, 2));
    assert_eq!(found.sides[0].zero_nanos, 3_000 * MS);
    assert_eq!(found.whole, Times { count: 2, median: 50 * MS, most: 50 * MS, longest: 50 * MS });
    assert_eq!(found.servers.iter().map(|group| group.key).collect::<Vec<_>>(), [Some(3), Some(4)]);
    assert_eq!(found.networks.len(), 1);
    assert_eq!(found.examples[0].client, client(1), "who stood still longest comes first");
    assert_eq!(pile.found(&all(8)), Found::default());
    let few = Filter { servers: Some(vec![4]), ..all(7) };
    assert_eq!(pile.found(&few).watched, 1);
    let from = Filter { from: Some("192.0.2.200".parse().unwrap()), ..all(7) };
    assert_eq!(pile.found(&from).watched, 1);
    let since = Filter { since: 25 * SECOND, ..all(7) };
    assert_eq!(pile.found(&since).opened, 0, "its handshake was before");
}

#[test]
fn the_pile_is_bounded_and_counts_what_finds_no_room() {
    let mut pile = Pile::default();
    let change = following().changes(vec![open(1)], 0).remove(0);
    for slice in 0..10 {
        for print in 0..9_000 {
            pile.add(Change { print, at: slice * 10 * SECOND, ..change.clone() });
        }
    }
    assert!(pile.kept() <= PILE, "{}", pile.kept());
    assert_eq!(pile.dropped(), 10 * (9_000 - 8_192));
    pile.add(Change { at: 4_000 * SECOND, ..change });
    assert_eq!(pile.kept(), 1, "an hour is enough");
}

proptest::proptest! {
    #[test]
    fn changes_sum_to_what_was_read(steps in proptest::collection::vec((0u64..5, 0u64..5, 0u64..1_000), 1..40)) {
        let mut follow = following();
        let mut seen = open(1);
        let mut sum = [Told::default(); 2];
        for (at, (packets, again, nanos)) in (2..).zip(steps) {
            seen.sides[0].packets += packets + 1;
            seen.sides[1].again += again;
            seen.sides[1].loss_nanos += nanos;
            for change in follow.changes(vec![seen.clone()], at * SECOND) {
                sum.iter_mut().zip(change.sides).for_each(|(sum, more)| sum.add(more));
            }
        }
        proptest::prop_assert_eq!(sum, seen.sides);
    }
}
