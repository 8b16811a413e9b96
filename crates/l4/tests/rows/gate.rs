//! Rows of shared addresses: their packets are forwarded during the lease, and none after it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use l4::abi::{self, Method, Outcome};
use l4::address_leases::AddressLeases;

use super::cookies::flooded;
use super::errors::icmp;
use super::packet::{ACK, ReceivedPacket, SYN, TestPacket, read_ip, tcp, udp};
use super::usual::{ENDS, both, syn};
use super::world::{DROP, DatapathTestbed, TX, ip, mapped};

const VIPS: [&str; 2] = ["203.0.113.10", "2001:db8:2::10"];

/// The usual plane with shared addresses.
fn world(method: Method) -> Option<DatapathTestbed> {
    let world = both(method)?;
    share(&world);
    Some(world)
}

fn share(world: &DatapathTestbed) {
    for index in [0, 1] {
        world.change_service(index, |service| service.flags |= abi::SERVICE_SHARED);
    }
}

/// Both addresses are held until then.
fn hold(world: &DatapathTestbed, until: u64) {
    let keys = VIPS.map(|vip| abi::Address { addr: mapped(ip(vip)) });
    keys.iter().for_each(|key| world.plane.holds.set(key, &until).unwrap());
}

fn shut(world: &DatapathTestbed, text: &str, packet: &TestPacket) {
    let out = world.expect(text, &packet.bytes(), Outcome::GateShut, DROP);
    assert_eq!(out, packet.bytes(), "{text}: untouched");
}

fn answer(seen: &ReceivedPacket) -> TestPacket {
    let end = |address: IpAddr, port| std::net::SocketAddr::new(address, port).to_string();
    tcp(&end(seen.dst, seen.dport), &end(seen.src, seen.sport), SYN | ACK)
}

#[test]
fn every_method_forwards_until_the_hold_is_over_and_again_when_it_is_renewed() {
    for method in [Method::Mac, Method::Tunnel, Method::Nat] {
        let Some(mut world) = world(method) else { return };
        for (client, vip) in ENDS {
            let text = |what: &str| format!("{} {vip} {what}", method.name());
            let first = syn(client, vip, 7);
            let ack = TestPacket { flags: ACK, ..syn(client, vip, 7) };
            world.forwarded(&text("nothing is said of it"), &syn(client, vip, 6));
            hold(&world, world.now + 1);
            world.forwarded(&text("the last ns"), &first);
            hold(&world, world.now);
            shut(&world, &text("a known connection"), &ack);
            shut(&world, &text("a new one"), &syn(client, vip, 8));
            shut(&world, &text("UDP"), &udp(client, vip));
            hold(&world, world.now + 1_000);
            world.forwarded(&text("renewed"), &ack);
            world.pass_ns(1_000);
            shut(&world, &text("time passed"), &ack);
            hold(&world, u64::MAX);
        }
    }
}

#[test]
fn a_service_that_shares_nothing_does_not_ask() {
    let Some(world) = both(Method::Mac) else { return };
    hold(&world, 0);
    ENDS.iter().for_each(|(client, vip)| drop(world.forwarded(vip, &syn(client, vip, 7))));
    // A service has a shared and an unshared address.
    share(&world);
    let other = abi::Address { addr: mapped(ip(VIPS[1])) };
    assert!(world.plane.holds.remove(&other).unwrap());
    let [(client, vip), (client6, vip6)] = ENDS;
    shut(&world, "the shared one", &syn(client, vip, 7));
    world.forwarded("its own", &syn(client6, vip6, 7));
}

#[test]
fn answers_errors_and_fragments_end_with_the_hold() {
    let Some(world) = world(Method::Nat) else { return };
    for (index, (client, vip)) in ENDS.into_iter().enumerate() {
        hold(&world, u64::MAX);
        let seen = read_ip(&world.forwarded(vip, &syn(client, vip, 9))[14..]);
        let answered = answer(&seen).bytes();
        world.expect("an answer", &answered, Outcome::Returned, TX);
        let base = TestPacket { id: 5, keep_whole: false, ..udp(client, vip) };
        let head = TestPacket { fragment: Some((0, true)), payload: vec![1; 64], ..base.clone() };
        let rest = TestPacket { fragment: Some((72, false)), payload: vec![2; 40], ..base };
        world.forwarded("a first fragment", &head);
        world.forwarded("a later one", &rest);
        let (router, kind) = [("198.51.100.1", 3), ("2001:db8:9::1", 1)][index];
        let end = |address: IpAddr, port| std::net::SocketAddr::new(address, port).to_string();
        let on_its_way = tcp(vip, &end(syn(client, vip, 9).src, 9), ACK).ip();
        let to_server = icmp(router, VIPS[index], kind, 1, &on_its_way).bytes();
        world.expect("an error", &to_server, Outcome::ErrorForwarded, TX);
        let sent = tcp(&end(seen.src, seen.sport), &end(seen.dst, seen.dport), ACK).ip();
        let to_client = icmp(router, &seen.src.to_string(), kind, 1, &sent).bytes();
        world.expect("an error back", &to_client, Outcome::ErrorReturned, TX);

        hold(&world, world.now);
        for (text, packet) in [
            ("an answer", answered),
            ("a first fragment", head.bytes()),
            ("a later one", rest.bytes()),
            ("an error", to_server),
            ("an error back", to_client),
        ] {
            world.expect(&format!("{vip} {text}"), &packet, Outcome::GateShut, DROP);
        }
    }
}

#[test]
fn no_cookie_is_given_for_an_address_that_is_not_held() {
    let Some(world) = flooded() else { return };
    share(&world);
    for (client, vip) in ENDS {
        hold(&world, u64::MAX);
        world.expect(vip, &syn(client, vip, 7).bytes(), Outcome::CookieSent, TX);
        hold(&world, 0);
        shut(&world, vip, &syn(client, vip, 8));
    }
}

#[test]
fn the_map_is_found_by_its_pin_and_known_from_another() {
    let Some(world) = DatapathTestbed::pinned() else { return };
    let pins = world.place().join("home");
    let holds = AddressLeases::open(&pins).unwrap().expect("the plane has the map");
    assert!(holds.is_current(&pins));
    assert!(!holds.is_current(world.place()));
    assert!(AddressLeases::open(world.place()).unwrap().is_none());
    holds.lease_address(ip(VIPS[0]), 7).unwrap();
    let key = abi::Address { addr: mapped(ip(VIPS[0])) };
    assert_eq!(world.plane.holds.get(&key).unwrap(), Some(7));
    holds.retain(&BTreeSet::from([ip(VIPS[1])])).unwrap();
    assert_eq!(holds.leased_until(ip(VIPS[0])).unwrap(), None);
    std::fs::remove_dir_all(&pins).unwrap();
    assert!(!holds.is_current(&pins));
}

/// Leads a packet to the outcome, for the row that each has.
pub fn reach(index: usize) -> Option<()> {
    let world = world(Method::Mac)?;
    hold(&world, 0);
    let (client, vip) = ENDS[index];
    shut(&world, vip, &syn(client, vip, 7));
    Some(())
}
