//! Networks as rows, the table against a plain one over random histories, and a concurrent writer and reader.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;

const SHAPE: NetworkGrouping = NetworkGrouping { networks: 4, mask4: 24, mask6: 56 };

fn good() -> OutcomeIndices {
    OutcomeIndices { outcome: 0, late: None, error: None }
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

#[test]
fn clients_share_networks() {
    for (mask4, mask6, client, network) in [
        (24, 56, "192.0.2.77", "192.0.2.0/24"),
        (24, 56, "::ffff:192.0.2.77", "192.0.2.0/24"),
        (24, 56, "2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"),
        (32, 128, "192.0.2.77", "192.0.2.77/32"),
        (32, 128, "2001:db8::7", "2001:db8::7/128"),
        (1, 1, "192.0.2.77", "128.0.0.0/1"),
        (1, 1, "2001:db8::7", "::/1"),
        (24, 48, "::1", "::/48"),
    ] {
        let shape = NetworkGrouping { networks: 1, mask4, mask6 };
        assert_eq!(shape.network(ip(client)).to_string(), network, "{client}");
    }
}

/// The counts of a reading, by network.
fn reading(reader: &mut SloReader, users: &SloTable) -> (BTreeMap<String, u64>, u64) {
    let mut by_network = BTreeMap::new();
    let total = reader.read(users, |network, tally| {
        let name = network.map_or("other".to_owned(), |network| network.to_string());
        *by_network.entry(name).or_default() += tally.total();
    });
    (by_network, total.total())
}

#[test]
fn what_does_not_fit_is_counted_together_and_room_comes_back() {
    let users = SloTable::new(2, SHAPE);
    let mut reader = SloReader::default();
    for round in 0..3 {
        for network in 0..7u8 {
            users.record(0, [10, 0, network, round].into(), good());
        }
        users.record(1, [10, 0, 6, 1].into(), good());
        // Another worker counts separately.
        users.record(2, [10, 0, 7, 1].into(), good());
    }
    let (by_network, total) = reading(&mut reader, &users);
    let row = |name: &str, count| (name.to_owned(), count);
    let want = [row("10.0.0.0/24", 3), row("10.0.1.0/24", 3), row("10.0.2.0/24", 3)];
    let rest = [row("10.0.3.0/24", 3), row("10.0.6.0/24", 3), row("other", 9)];
    assert_eq!(by_network, want.into_iter().chain(rest).collect());
    assert_eq!(total, 24);
    assert_eq!(reading(&mut reader, &users), (BTreeMap::new(), 0), "nothing came since");
    users.flip_pages();
    users.record(0, [10, 0, 9, 9].into(), good());
    assert_eq!(reading(&mut reader, &users), ([row("10.0.9.0/24", 1)].into(), 1));
    users.flip_pages();
    users.record(0, [10, 0, 8, 9].into(), good());
    assert_eq!(reading(&mut reader, &users), ([row("10.0.8.0/24", 1)].into(), 1));
    assert_eq!(users.totals().total(), 26);
}

#[test]
fn a_page_is_read_to_its_end_after_the_worker_left_it() {
    let users = SloTable::new(1, SHAPE);
    let mut reader = SloReader::default();
    users.record(0, [10, 0, 0, 1].into(), good());
    users.flip_pages();
    users.record(0, [10, 0, 0, 1].into(), good());
    assert_eq!(reading(&mut reader, &users), ([("10.0.0.0/24".to_owned(), 2)].into(), 2));
}

#[test]
fn nothing_is_lost_between_a_worker_and_a_reader() {
    let users = Arc::new(SloTable::new(1, SHAPE));
    let done = Arc::new(AtomicBool::new(false));
    let writer = {
        let users = users.clone();
        let done = done.clone();
        std::thread::spawn(move || {
            for n in 0..200_000u32 {
                users.record(0, [10, 0, (n % 6) as u8, 1].into(), good());
            }
            done.store(true, Ordering::Release);
        })
    };
    let mut reader = SloReader::default();
    let mut networks = 0;
    let mut totals = 0;
    loop {
        let last = done.load(Ordering::Acquire);
        let (by_network, total) = reading(&mut reader, &users);
        networks += by_network.values().sum::<u64>();
        totals += total;
        if last {
            break;
        }
    }
    writer.join().unwrap();
    assert_eq!((networks, totals), (200_000, 200_000));
}

/// A network's number, or a page flip after a reading.
#[derive(Clone, Debug)]
enum TableStep {
    Count(u8, u8),
    Read,
    Turn,
}

fn steps() -> impl Strategy<Value = Vec<TableStep>> {
    let count = (0..2u8, 0..9u8).prop_map(|(worker, network)| TableStep::Count(worker, network));
    let step = prop_oneof![8 => count, 1 => Just(TableStep::Read), 1 => Just(TableStep::Turn)];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #[test]
    fn each_operation_is_counted_once_and_for_its_own_network(steps in steps()) {
        let (users, mut reader) = (SloTable::new(2, SHAPE), SloReader::default());
        let (mut counted, mut read_counts) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
        let mut take = |reader: &mut SloReader| {
            for (name, count) in reading(reader, &users).0 {
                *read_counts.entry(name).or_default() += count;
            }
        };
        for step in steps {
            match step {
                TableStep::Count(worker, network) => {
                    let client: IpAddr = [10, 0, network, 1].into();
                    users.record(usize::from(worker), client, good());
                    *counted.entry(SHAPE.network(client).to_string()).or_default() += 1;
                }
                TableStep::Read => take(&mut reader),
                TableStep::Turn => {
                    take(&mut reader);
                    users.flip_pages();
                }
            }
        }
        take(&mut reader);
        prop_assert_eq!(read_counts.values().sum::<u64>(), counted.values().sum::<u64>());
        for (name, count) in read_counts.iter().filter(|(name, _)| *name != "other") {
            prop_assert!(counted.get(name).is_some_and(|all| count <= all), "{} {}", name, count);
        }
        prop_assert!(counted.len() > 4 || !read_counts.contains_key("other"));
    }
}
