//! Rows of replicated connections: the marks of the datapath, how they are read, and that packets use an entered
//! connection.

use std::net::{IpAddr, SocketAddr};

use l4::abi::{self, Method, Outcome, State};
use l4::replica::{
    FlowHashSecret, PutResult, RecordSlot, ReplicaTables, ReplicatedTable, flow_fingerprint,
};

use super::packet::{ACK, FIN, ReceivedPacket, SYN, TestPacket, read_ip, tcp};
use super::usual::{ENDS, SERVERS, both, syn};
use super::world::{DatapathTestbed, TX, ip};

const SECRET: FlowHashSecret = [11, 22, 33, 44];
const REPLICATED: u32 = abi::SERVICE_TELLS_FLOWS | abi::SERVICE_TELLS_STICKY;

/// The usual plane with a known secret, and its tables.
fn plane(method: Method, secret: FlowHashSecret) -> Option<(DatapathTestbed, ReplicaTables)> {
    let world = both(method)?;
    set_secret(&world, secret);
    for index in [0, 1] {
        world.change_service(index, |service| service.flags |= REPLICATED);
    }
    let replica = ReplicaTables::new(&world.plane).unwrap();
    Some((world, replica))
}

fn set_secret(world: &DatapathTestbed, secret: FlowHashSecret) {
    let mut config = world.plane.config.get(&0).unwrap().unwrap();
    config.secret = secret;
    world.plane.config.set(&0, &config).unwrap();
}

fn tick(world: &DatapathTestbed) -> u32 {
    (world.now >> abi::TICK_SHIFT) as u32
}

/// Places of a table that were noted.
fn noted(replica: &ReplicaTables, table: ReplicatedTable) -> Vec<u32> {
    let mut places = Vec::new();
    let result = replica.take_changes(table, 0, |place| {
        places.push(place);
        true
    });
    assert_eq!(result, Ok(()));
    places
}

/// Replicates the marked entries from one plane to the other. Returns their number.
fn tell(from: &(DatapathTestbed, ReplicaTables), to: &(DatapathTestbed, ReplicaTables)) -> usize {
    let then = tick(&from.0);
    let now = tick(&to.0);
    let flows = noted(&from.1, ReplicatedTable::Flows);
    for place in &flows {
        let entry = from.1.flow(*place, then).unwrap();
        assert_eq!(to.1.put_flow(&entry, now, true), PutResult::Done);
    }
    let records = noted(&from.1, ReplicatedTable::Records);
    for place in &records {
        let one = from.1.connection(*place, then, &SECRET).unwrap();
        let share = from.0.plane.shares.get(&one.share).unwrap().unwrap();
        let slot =
            RecordSlot { place: *place, share_index: place - share.first, client_source: None };
        assert_eq!(to.1.put_record(&one, &slot, &SECRET, now, true), PutResult::Done);
    }
    flows.len() + records.len()
}

fn seen(out: &[u8]) -> ReceivedPacket {
    read_ip(&out[14..])
}

fn with(packet: &TestPacket, flags: u8) -> TestPacket {
    TestPacket { flags, ..packet.clone() }
}

#[test]
fn what_began_on_one_machine_goes_on_on_the_other() {
    for method in [Method::Mac, Method::Tunnel, Method::Nat] {
        let Some(one) = plane(method, SECRET) else { return };
        let Some(other) = plane(method, SECRET) else { return };
        for (at, (client, vip)) in ENDS.into_iter().enumerate() {
            let text = |what: &str| format!("{} {vip}: {what}", method.name());
            let first = syn(client, vip, 7_000);
            one.0.forwarded(&text("it begins"), &first);
            assert_eq!(tell(&one, &other), 1, "{}", text("it is noted"));
            let ack = with(&first, ACK);
            let here = one.0.forwarded(&text("here"), &ack);
            assert_eq!(tell(&one, &other), 1, "{}", text("its next state is noted"));
            one.0.forwarded(&text("here again"), &ack);
            assert_eq!(tell(&one, &other), 0, "{}", text("a packet is not"));
            let begun = |world: &DatapathTestbed| -> u64 {
                world
                    .plane
                    .server_counts
                    .each_cpu(&(at as u32))
                    .unwrap()
                    .iter()
                    .map(|row| row.flows)
                    .sum()
            };
            let there = other.0.forwarded(&text("there"), &ack);
            assert_eq!(begun(&other.0), 0, "{}", text("no new connection"));
            assert_eq!(there, here, "{}", text("the same packet goes out"));
            if method == Method::Nat {
                answered(&other.0, &text("its answer"), &there, client);
                let next = other.0.forwarded(&text("a new one"), &syn(client, vip, 7_001));
                assert_ne!(seen(&next).sport, seen(&there).sport, "{}", text("another port"));
            }
            one.0.forwarded(&text("it ends"), &with(&first, FIN | ACK));
            assert_eq!(tell(&one, &other), 1, "{}", text("its end is noted"));
        }
    }
}

/// The server replies to the packet, and the reply reaches the client.
fn answered(world: &DatapathTestbed, text: &str, out: &[u8], client: &str) {
    let to = seen(out);
    let end = |ip: IpAddr, port| SocketAddr::new(ip, port).to_string();
    let answer = tcp(&end(to.dst, to.dport), &end(to.src, to.sport), SYN | ACK);
    // The client's own packet showed the next hop to it.
    let back = world.expect(text, &answer.bytes(), Outcome::Returned, TX);
    assert_eq!(seen(&back).dst, client.parse::<SocketAddr>().unwrap().ip(), "{text}");
}

#[test]
fn hashes_are_those_of_the_datapath() {
    let Some(one) = plane(Method::Mac, SECRET) else { return };
    for (client, vip) in ENDS {
        let [from, to] = [client, vip].map(|end| end.parse::<SocketAddr>().unwrap());
        one.0.forwarded(vip, &syn(client, vip, from.port()));
        let place = noted(&one.1, ReplicatedTable::Flows)[0];
        let entry = one.1.flow(place, tick(&one.0)).unwrap();
        assert_eq!(entry.fingerprint, flow_fingerprint(&SECRET, from, to, 6), "{vip}");
        assert_eq!((entry.state, entry.ttl_ticks), (State::Embryonic, 20));
    }
}

#[test]
fn phases_are_replicated_by_hash() {
    let Some(one) = plane(Method::Nat, SECRET) else { return };
    let Some(other) = plane(Method::Nat, SECRET) else { return };
    let (client, vip) = ENDS[0];
    one.0.forwarded("begins", &syn(client, vip, 7));
    let place = {
        let places = noted(&one.1, ReplicatedTable::Records);
        places.iter().for_each(|place| one.1.mark_changed(ReplicatedTable::Records, *place));
        places[0]
    };
    tell(&one, &other);
    let now = tick(&other.0);
    let read =
        |world: &(DatapathTestbed, ReplicaTables)| world.1.connection(place, now, &SECRET).unwrap();
    let end =
        |fingerprint, may: bool| other.1.put_phase(fingerprint, State::Closing, 50, now, |_| may);
    assert_eq!(end(read(&one).fingerprint, false), Some(PutResult::Occupied));
    assert_eq!(end(read(&one).fingerprint, true), Some(PutResult::Done));
    assert_eq!((read(&other).state, read(&other).ttl_ticks), (State::Closing, 50));
    assert_eq!(end(99, true), None, "nobody knows it");
    let slot = RecordSlot { place, share_index: 0, client_source: None };
    let put_result = other.1.put_record(&read(&one), &slot, &SECRET, now, false);
    assert_eq!(put_result, PutResult::Occupied, "what lives here stays");
    let beyond = RecordSlot { place: u32::MAX, ..slot };
    assert_eq!(other.1.put_record(&read(&one), &beyond, &SECRET, now, true), PutResult::Full);
}

#[test]
fn a_joining_machine_gets_every_place_and_the_secret() {
    let Some(one) = plane(Method::Nat, SECRET) else { return };
    let Some(other) = plane(Method::Nat, [1, 2, 3, 4]) else { return };
    let (client, vip) = ENDS[1];
    for port in 1..=40 {
        one.0.forwarded("begins", &syn(client, vip, port));
    }
    one.1.clear_changes(ReplicatedTable::Records);
    assert!(noted(&one.1, ReplicatedTable::Records).is_empty());
    other.0.forwarded("its own", &syn(client, vip, 9_999));
    set_secret(&other.0, SECRET);
    other.1.change_secret(&SECRET, tick(&other.0), |_| None);
    other.0.forwarded("its own goes on", &with(&syn(client, vip, 9_999), ACK));
    let used = (0..one.1.places(ReplicatedTable::Records))
        .filter(|at| one.1.is_used(ReplicatedTable::Records, *at));
    used.for_each(|place| one.1.mark_changed(ReplicatedTable::Records, place));
    // The plane's own connection used the first port, which the address holder assigns to another connection.
    assert_eq!(tell(&one, &other), 40);
    for port in 1..=40 {
        other.0.forwarded("goes on", &with(&syn(client, vip, port), ACK));
    }
    let gone = with(&syn(client, vip, 9_999), ACK).bytes();
    other.0.expect("it gave way", &gone, Outcome::NoFlow, super::world::DROP);
}

#[test]
fn a_reader_that_stops_early_gets_the_rest_later() {
    let Some(one) = plane(Method::Mac, SECRET) else { return };
    let (client, vip) = ENDS[0];
    (1..=10).for_each(|port| drop(one.0.forwarded("begins", &syn(client, vip, port))));
    let mut told = 0;
    let mut last = 0;
    let stopped = one.1.take_changes(ReplicatedTable::Flows, 0, |place| {
        told += 1;
        last = place;
        told < 4
    });
    assert_eq!(stopped, Err(last));
    assert_eq!(noted(&one.1, ReplicatedTable::Flows).len(), 7, "the last one is told again");
    // A scan that starts in the middle reaches the earlier places last.
    for place in [3, 1_000, 2_000] {
        one.1.mark_changed(ReplicatedTable::Flows, place);
    }
    let mut order = Vec::new();
    let all = one.1.take_changes(ReplicatedTable::Flows, 1_000, |place| {
        order.push(place);
        true
    });
    assert_eq!((all, order), (Ok(()), vec![1_000, 2_000, 3]));
}

// Rows: I36
#[test]
fn who_sticks_on_one_machine_sticks_on_the_other() {
    let planes = [plane(Method::Mac, SECRET), plane(Method::Mac, SECRET)];
    let [Some(one), Some(other)] = planes else { return };
    for (world, _) in [&one, &other] {
        let mut pool = world.pool(0, &[0, 2]);
        world.server(2, "10.0.0.2", 0);
        pool.sticky = 100;
        pool.sticky_mask4 = 32;
        pool.sticky_scope = 5;
        world.plane.pools.set(&0, &pool).unwrap();
    }
    let (client, vip) = ENDS[0];
    one.0.forwarded("begins", &syn(client, vip, 1));
    let places = noted(&one.1, ReplicatedTable::Sticky);
    let entry = one.1.sticky_client(places[0], tick(&one.0)).unwrap();
    assert_eq!((places.len(), entry.server, entry.ttl_ticks), (1, 0, 100));
    let turned = l4::replica::FlowEntry { server: 2, ..entry };
    assert_eq!(other.1.put_sticky_client(&turned, tick(&other.0), true), PutResult::Done);
    assert_eq!(other.1.put_sticky_client(&entry, tick(&other.0), false), PutResult::Occupied);
    let out = other.0.expect("sticks", &syn(client, vip, 2).bytes(), Outcome::Forwarded, TX);
    assert_eq!(out[..6], super::world::link(2), "the server that it was told");
    one.0.forwarded("again", &syn(client, vip, 3));
    assert_eq!(noted(&one.1, ReplicatedTable::Sticky).len(), 0, "renewed a moment ago");
    assert!(ip(SERVERS[0]).is_ipv4());
}
