//! Flow samples that are switched off and on, killed, and taken over by another process: nothing is counted twice, and
//! packets are forwarded.

use std::io::{Read, Write};

use tests::e2e::packet_balancer::ready;
use tests::e2e::wait;

use super::topology::{InsightTopology, ask, far};

#[test]
fn another_process_goes_on_where_the_first_ended() {
    if !ready() {
        return;
    }
    let mut world = InsightTopology::open("nat", far(2), far(2));
    world.fetch(10_000);
    let mut open = world.connect();
    ask(&mut open, "put 20000");
    open.write_all(&[b'x'; 10_000]).unwrap();
    let told = world.until("two connections", |it| it.handshakes.done == 2);
    assert_eq!((told.watched, told.started), (2, 2));
    world.start(&["run", "--takeover"]);
    assert_eq!(world.explained(), None, "what the first process told is not told again");
    open.write_all(&[b'x'; 10_000]).unwrap();
    open.read_to_end(&mut Vec::new()).unwrap();
    let told = world.until("what is new of the old connection", |it| it.client.packets > 0);
    assert_eq!(
        (told.watched, told.started, told.handshakes.done, told.late),
        (1, 0, 0, 0),
        "{told:?}"
    );
    assert_eq!(told.unscaled, 0, "its SYNs were seen, by whatever process");
    world.kill();
    world.fetch(10_000);
    world.start(&["run"]);
    world.fetch(10_000);
    let told = world.until("what came after", |it| it.handshakes.done > 0);
    assert_eq!(told.started, 1, "what nobody was there to tell of is left out: {told:?}");
}

#[test]
fn it_is_switched_off_and_on_without_a_connection_noticing() {
    if !ready() {
        return;
    }
    let world = InsightTopology::open("nat", far(2), far(2));
    let mut open = world.connect();
    ask(&mut open, "put 30000");
    open.write_all(&[b'x'; 10_000]).unwrap();
    world.until("a connection", |it| it.handshakes.done == 1);
    let sample = |want: Option<u64>| {
        wait::until("insight is as configured", || {
            let insight = &world.status()["packets"]["flow-samples"];
            insight["one-in"].as_u64() == want && (want.is_some() || insight["watched"] == 0)
        });
    };
    world.configure("off");
    world.reload();
    sample(None);
    let before = world.explained();
    open.write_all(&[b'x'; 10_000]).unwrap();
    world.fetch(10_000);
    world.configure("1");
    world.reload();
    sample(Some(1));
    open.write_all(&[b'x'; 10_000]).unwrap();
    open.read_to_end(&mut Vec::new()).unwrap();
    let told = world.until("the middle of it", |it| it.late == 1);
    assert_eq!(told.started, before.unwrap().started + 1, "{told:?}");
    assert_eq!((told.handshakes.done, told.unscaled), (1, 1), "{told:?}");
    assert_eq!((told.client.lost_before, told.client.lost_behind), (0, 0), "{told:?}");
    let status = world.verb(&["status"]).stdout;
    assert!(status.contains("flow samples: ") && status.contains("1 in 1"), "{status}");
}
