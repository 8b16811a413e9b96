//! Pictures and counters in, orders out: which pools are looked at, and what an operator's or a probe's word does.

use std::time::{Duration, SystemTime};

use model::eject::Order;
use model::moment::Moment;
use model::snapshot::{ServerState, ServerView};

use crate::control::{Ejected, Judgement, Picture};
use crate::judge::dock::Dock;
use crate::report::fixture::{change, picture};

fn text(forward: &str, keys: &str) -> String {
    format!(
        "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"{forward}\"\npool = \"p\"\n[pool.p]\ninitial = \"up\"\n\
         servers = [\"10.0.0.1:1\", \"10.0.0.2:1\", \"10.0.0.3:1\"]\n{keys}\n"
    )
}

fn server(picture: &Picture, at: usize) -> &ServerView {
    &picture.snapshot.pools.values().next().unwrap().servers[at]
}

/// The first server fails, the others answer.
fn fails(picture: &Picture) {
    for at in 0..3 {
        let live = &server(picture, at).live;
        if at == 0 {
            live.slots[0].counters.judged_bad.add(10);
            for _ in 0..10 {
                live.bad_in_a_row.up();
            }
        } else {
            live.slots[0].counters.judged_good.add(10);
        }
    }
}

fn look(dock: &mut Dock, picture: &Picture, millis: u64) -> Vec<Order> {
    dock.look(picture, Moment(millis * 1_000_000), || 0).orders
}

/// As `Control` does with an order.
fn put_out(picture: &mut Picture) {
    let name = server(picture, 0).config.name.clone();
    change(picture, &name, |facts| {
        facts.ejected = Some(Ejected { reason: "why".to_owned(), until: SystemTime::now() });
        facts.state = ServerState::Down;
    });
}

#[test]
fn only_pools_that_requests_are_proxied_to_are_looked_at() {
    for (forward, keys, looked_at) in
        [("http", "", 3), ("tcp", "", 0), ("http", "eject = \"off\"", 0)]
    {
        let picture = picture(&text(forward, keys), 1);
        let mut dock = Dock::default();
        look(&mut dock, &picture, 0);
        fails(&picture);
        let orders = look(&mut dock, &picture, 100);
        assert_eq!((dock.servers(), orders.len()), (looked_at, looked_at / 3), "{forward} {keys}");
    }
}

#[test]
fn what_is_put_out_comes_back_after_its_time() {
    let mut picture = picture(&text("http", ""), 1);
    let mut dock = Dock::default();
    look(&mut dock, &picture, 0);
    fails(&picture);
    let orders = look(&mut dock, &picture, 100);
    let [Order::Eject { id, time, .. }] = orders[..] else { panic!("{orders:?}") };
    assert_eq!((id, time), (server(&picture, 0).id, Duration::from_secs(5)));
    put_out(&mut picture);
    assert_eq!(look(&mut dock, &picture, 5_000), []);
    assert!(matches!(look(&mut dock, &picture, 5_200)[..], [Order::Readmit { needed: false, .. }]));
}

#[test]
fn a_word_of_an_operator_or_a_probe_stands_above_it() {
    let mut picture = picture(&text("http", ""), 1);
    let mut dock = Dock::default();
    fails(&picture);
    look(&mut dock, &picture, 0);
    put_out(&mut picture);
    let name = server(&picture, 0).config.name.clone();
    // Its probe says the same: it stays out, and is down when its time is over.
    change(&mut picture, &name, |facts| facts.judged.health = Judgement::Down);
    assert_eq!(look(&mut dock, &picture, 1_000), []);
    change(&mut picture, &name, |facts| facts.state = ServerState::Disabled);
    assert!(matches!(look(&mut dock, &picture, 1_100)[..], [Order::Readmit { .. }]));
}

#[test]
fn what_nobody_here_put_out_is_let_in() {
    for keys in ["", "eject = \"off\""] {
        let mut picture = picture(&text("http", keys), 1);
        put_out(&mut picture);
        let orders = look(&mut Dock::default(), &picture, 0);
        assert!(matches!(orders[..], [Order::Readmit { .. }]), "{keys}: {orders:?}");
    }
}
