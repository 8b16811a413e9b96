//! A reload loses no socket and no query.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::setup::{AT, NameServerSetup, ZONE, setup};

/// The number of concurrent queries.
const WINDOW: usize = 32;
const CHANGES: usize = 6;

/// A query for the address of `ns.gslb.example` with this ID.
fn query(id: u16) -> Vec<u8> {
    let mut bytes = id.to_be_bytes().to_vec();
    bytes.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"\x02ns\x04gslb\x07example\0\0\x01\0\x01");
    bytes
}

/// Sends queries until `stop`, and returns how many were sent and how many were answered correctly. No query is
/// retried.
fn load(socket: &UdpSocket, stop: &AtomicBool, answered: &AtomicU64) -> (u64, u64) {
    let mut asked = 0u64;
    let mut good = 0u64;
    let mut room = [0; 512];
    let mut open = 0;
    loop {
        let stopping = stop.load(Ordering::Relaxed);
        while open < WINDOW && !stopping {
            socket.send_to(&query((asked & 0xffff) as u16), AT).unwrap();
            asked += 1;
            open += 1;
        }
        if open == 0 {
            return (asked, good);
        }
        let Ok((count, _)) = socket.recv_from(&mut room) else { return (asked, good) };
        open -= 1;
        // No error, one record, and the address at its end.
        let whole = room[3] & 15 == 0 && room[7] == 1 && room[..count].ends_with(&[127, 0, 0, 1]);
        good += u64::from(whole);
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn under_load_nothing_is_lost_while_the_configuration_changes() {
    let zone = ZONE.replace("[names]\n", "[names]\nrate = \"off\"\n");
    let Some(mut world) = NameServerSetup::open(&zone) else { return };
    let socket = world.socket();
    let stop = AtomicBool::new(false);
    let answered = AtomicU64::new(0);
    let (asked, good) = std::thread::scope(|scope| {
        let load = scope.spawn(|| load(&socket, &stop, &answered));
        for change in 0..CHANGES {
            // Each change adds or removes an address and a name, and changes a TTL.
            let second = if change % 2 == 0 {
                "[\"127.0.0.1:53\", \"127.0.0.2:53\"]"
            } else {
                "\"127.0.0.1:53\""
            };
            let text = zone.replace("listen = \"127.0.0.1:53\"", &format!("listen = {second}"));
            let text = text.replace("ttl = \"1s\"", &format!("ttl = \"{}s\"", change + 2));
            let more =
                format!("{text}[name.\"n{change}.gslb.example\"]\naddresses = \"192.0.2.9\"\n");
            world.balancer.reload(&setup(&more));
            // Some queries are answered under each configuration.
            let before = answered.load(Ordering::Relaxed);
            tests::e2e::wait::until("queries go on", || {
                answered.load(Ordering::Relaxed) > before + 500
            });
        }
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap()
    });
    assert!(asked > 3_000, "{asked}");
    assert_eq!(good, asked, "of {asked} queries {} were lost or answered badly", asked - good);
    let last = format!("n{}.gslb.example", CHANGES - 1);
    assert_eq!(world.dig(&[&last, "A", "+short"]), "192.0.2.9");
    assert!(world.dig(&["n0.gslb.example", "A"]).contains("NXDOMAIN"));
}
