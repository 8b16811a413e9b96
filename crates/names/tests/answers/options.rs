//! The effects of EDNS: client subnets, cookies, sizes, rates.

use std::time::Duration;

use hickory_proto::op::Edns;
use hickory_proto::rr::RecordType;
use hickory_proto::rr::rdata::opt::{ClientSubnet, EdnsCode, EdnsOption};
use names::counts::{DnsTransport, Fate};

use super::world::{ObservedAnswer, ResponderTestbed, TEXT};

fn subnet(address: &str, bits: u8) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(1232);
    let subnet = ClientSubnet::new(address.parse().unwrap(), bits, 0);
    edns.options_mut().insert(EdnsOption::Subnet(subnet));
    edns
}

fn scope(seen: &ObservedAnswer) -> Option<u8> {
    match seen.message.edns.as_ref()?.option(EdnsCode::Subnet)? {
        EdnsOption::Subnet(subnet) => Some(subnet.scope_prefix()),
        _ => None,
    }
}

#[test]
fn the_client_behind_a_resolver_counts_and_the_scope_is_answered() {
    let mut world = ResponderTestbed::new();
    let rows = [
        ("near.gslb.example.org", "192.0.2.0", 24, "10.1.0.1", 24),
        ("near.gslb.example.org", "198.51.100.0", 24, "10.2.0.1", 24),
        ("near.gslb.example.org", "2001:db8:e:7::", 56, "10.1.0.1", 48),
    ];
    for (name, network, bits, address, wanted) in rows {
        let seen = world.ask_with(name, RecordType::A, Some(subnet(network, bits)));
        assert_eq!(
            (seen.data(), scope(&seen)),
            (vec![address.to_owned()], Some(wanted)),
            "{network}"
        );
    }
    // An answer that does not depend on the client is valid for all.
    let seen = world.ask_with("www.gslb.example.org", RecordType::A, Some(subnet("192.0.2.0", 24)));
    assert_eq!(scope(&seen), Some(0));
    let kept =
        world.ask_with("kept.gslb.example.org", RecordType::A, Some(subnet("192.0.2.0", 24)));
    assert_eq!(scope(&kept), Some(24));
    // Without a disclosed subnet the resolver's address counts.
    world.from = "192.0.2.9".parse().unwrap();
    let seen = world.ask_with("near.gslb.example.org", RecordType::A, Some(subnet("0.0.0.0", 0)));
    assert_eq!((seen.data(), scope(&seen)), (vec!["10.1.0.1".to_owned()], Some(0)));
}

#[test]
fn client_subnets_are_ignored_where_not_trusted() {
    let mut world = ResponderTestbed::with(
        &TEXT.replace("rate = \"off\"", "rate = \"off\"\nclient-subnet = false"),
    );
    world.from = "198.51.100.1".parse().unwrap();
    let seen =
        world.ask_with("near.gslb.example.org", RecordType::A, Some(subnet("192.0.2.0", 24)));
    assert_eq!((seen.data(), scope(&seen)), (vec!["10.2.0.1".to_owned()], None));
}

#[test]
fn a_malformed_subnet_gets_an_error() {
    let mut world = ResponderTestbed::new();
    let mut edns = Edns::new();
    edns.options_mut().insert(EdnsOption::Unknown(8, vec![0, 1, 24, 0, 192, 0]));
    let bytes = super::world::query("near.gslb.example.org", RecordType::A, Some(edns));
    assert_eq!(world.send(&bytes).0, Fate::Malformed);
}

fn cookie(value: &[u8]) -> Edns {
    let mut edns = Edns::new();
    edns.set_max_payload(1232);
    edns.options_mut().insert(EdnsOption::Unknown(10, value.to_vec()));
    edns
}

fn shown(seen: &ObservedAnswer) -> Vec<u8> {
    match seen.message.edns.as_ref().unwrap().option(EdnsCode::Cookie) {
        Some(EdnsOption::Unknown(_, value)) => value.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_shows_its_cookie_is_neither_limited_nor_cut() {
    let mut world =
        ResponderTestbed::with(&TEXT.replace("rate = \"off\"", "rate = 1\nslip = \"off\""));
    let name = "many.gslb.example.org";
    let first = world.ask_with(name, RecordType::A, Some(cookie(&[5; 8])));
    let given = shown(&first);
    assert!(given.len() == 24 && given[..8] == [5; 8]);
    assert_eq!(world.send(&super::world::query(name, RecordType::A, None)).0, Fate::Limited);
    // 18 addresses exceed the amplification limit: only a client with a cookie gets them over UDP.
    let known = world.ask_with(name, RecordType::AAAA, Some(cookie(&given)));
    assert_eq!((known.fate, known.data().len()), (Fate::Answered, 18));
    let forged = [&given[..20], &[0; 4]].concat();
    world.now = world.now + Duration::from_secs(5);
    assert_eq!(world.ask(name, RecordType::AAAA).fate, Fate::Truncated);
    let bytes = super::world::query(name, RecordType::AAAA, Some(cookie(&forged)));
    assert_eq!(world.send(&bytes).0, Fate::Limited);
    world.transport = DnsTransport::Tcp;
    assert_eq!(world.send(&bytes).0, Fate::Answered);
}

#[test]
fn above_the_rate_some_replies_demand_tcp() {
    let mut world = ResponderTestbed::with(&TEXT.replace("rate = \"off\"", "rate = 10\nslip = 2"));
    let bytes = super::world::query("www.gslb.example.org", RecordType::A, None);
    let mut fates = [0; 3];
    for _ in 0..30 {
        match world.send(&bytes) {
            (Fate::Answered, _) => fates[0] += 1,
            (Fate::Limited, _) => fates[1] += 1,
            (Fate::Slipped, out) => {
                assert!(out[2] & 2 != 0 && out.len() == bytes.len());
                fates[2] += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fates, [10, 10, 10]);
    // Another network, and another class of answer.
    let none = super::world::query("x.gslb.example.org", RecordType::A, None);
    assert_eq!(world.send(&none).0, Fate::NoName);
    world.from = "192.0.2.77".parse().unwrap();
    assert_eq!(world.send(&bytes).0, Fate::Answered);
}

#[test]
fn a_resolver_beyond_the_rate_is_sent_to_tcp_and_never_met_with_silence() {
    let mut world = ResponderTestbed::with(&TEXT.replace("rate = \"off\"", "rate = 10"));
    // As resolvers send it: with a size, and a name of mixed case.
    let mut edns = Edns::new();
    edns.set_max_payload(1_232);
    let queries = [
        super::world::query("www.gslb.example.org", RecordType::A, None),
        super::world::query("wWw.gSlB.eXample.org", RecordType::A, Some(edns)),
    ];
    let mut answered = 0;
    let mut truncated = 0;
    for number in 0..1_000 {
        let query = &queries[number % queries.len()];
        match world.send(query) {
            (Fate::Answered, _) => answered += 1,
            (Fate::Slipped, out) => {
                assert!(out[2] & 2 != 0, "truncated: it comes over TCP");
                assert!(out.len() <= query.len(), "no gain for who asks in another's name");
                truncated += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, truncated), (10, 990));
    world.transport = DnsTransport::Tcp;
    assert_eq!(world.send(&queries[0]).0, Fate::Answered);
}

#[test]
fn dnssec_ok_is_copied_and_our_size_is_sent() {
    let mut edns = Edns::new();
    edns.set_dnssec_ok(true).set_max_payload(4096);
    let seen = ResponderTestbed::new().ask_with("www.gslb.example.org", RecordType::A, Some(edns));
    let edns = seen.message.edns.unwrap();
    assert!(edns.flags().dnssec_ok && edns.max_payload() == 1232);
}
