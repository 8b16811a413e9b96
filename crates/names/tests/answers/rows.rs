//! The answer to each question, row by row.

use hickory_proto::op::{Edns, Message, ResponseCode};
use hickory_proto::rr::RecordType;
use model::snapshot::ServerState::{Disabled, Down, Drain, Unknown};
use names::counts::{DnsTransport, Fate};

use super::world::{ResponderTestbed, query};

const SOA: &str = "ns1.gslb.example.org. dns.example.org. 7 3600 600 604800 7";

#[test]
fn a_name_is_answered_with_authority_and_its_case() {
    let mut world = ResponderTestbed::new();
    let seen = world.ask("wWw.gSlb.EXAMPLE.org", RecordType::A);
    let head = &seen.message.metadata;
    assert_eq!((seen.code(), seen.fate), (ResponseCode::NoError, Fate::Answered));
    assert!(head.authoritative && !head.recursion_available && !head.truncation);
    assert_eq!(seen.message.queries[0].name().to_ascii(), "wWw.gSlb.EXAMPLE.org.");
    let record = &seen.message.answers[0];
    assert_eq!((record.name.to_ascii().as_str(), record.ttl), ("wWw.gSlb.EXAMPLE.org.", 30));
    assert_eq!(seen.message.authorities.len(), 0);
    // Each name is written only once.
    assert_eq!(seen.bytes, 12 + 26 + 16 + 11);
}

#[test]
fn each_type_has_its_records() {
    let mut world = ResponderTestbed::new();
    let rows = [
        ("gslb.example.org", RecordType::SOA, vec![SOA]),
        ("gslb.example.org", RecordType::NS, vec!["ns1.gslb.example.org.", "ns.example.net."]),
        ("gslb.example.org", RecordType::TXT, vec!["one", "two"]),
        ("www.gslb.example.org", RecordType::AAAA, vec!["2001:db8::3"]),
        ("shop.gslb.example.org", RecordType::A, vec!["203.0.113.1"]),
        ("shop.gslb.example.org", RecordType::AAAA, vec!["2001:db8::1"]),
        ("b.www.gslb.example.org", RecordType::A, vec!["10.0.0.2"]),
        ("alias.gslb.example.org", RecordType::CNAME, vec!["www.gslb.example.org."]),
        ("alias.gslb.example.org", RecordType::AAAA, vec!["www.gslb.example.org.", "2001:db8::3"]),
        ("away.gslb.example.org", RecordType::A, vec!["www.example.net."]),
        ("www.gslb.example.org", RecordType::ANY, vec!["RFC8482 "]),
    ];
    for (name, kind, expected) in rows {
        let seen = world.ask(name, kind);
        assert_eq!(seen.data(), expected, "{name} {kind}");
        assert_eq!(
            (seen.fate, seen.code()),
            (Fate::Answered, ResponseCode::NoError),
            "{name} {kind}"
        );
        assert_eq!(seen.authority(), [], "{name} {kind}");
    }
    let https = world.ask("www.gslb.example.org", RecordType::HTTPS).data();
    assert!(https[0].starts_with("1 . alpn=") && https[0].contains("h2"), "{https:?}");
}

#[test]
fn name_servers_of_ours_come_with_their_addresses() {
    let seen = ResponderTestbed::new().ask("gslb.example.org", RecordType::NS);
    let name = "ns1.gslb.example.org.".to_owned();
    let expected = [(name.clone(), "192.0.2.53".to_owned()), (name, "2001:db8::53".to_owned())];
    assert_eq!(seen.additional(), expected);
}

#[test]
fn services_are_answered_with_port_weight_and_addresses() {
    let mut world = ResponderTestbed::new();
    world.set(&[("a", Down)]);
    let seen = world.ask("_http._tcp.www.gslb.example.org", RecordType::SRV);
    let expected = ["0 3 8002 b.www.gslb.example.org.", "0 1 8003 c.www.gslb.example.org."];
    assert_eq!(seen.data(), expected);
    let expected = [
        ("b.www.gslb.example.org.".to_owned(), "10.0.0.2".to_owned()),
        ("c.www.gslb.example.org.".to_owned(), "2001:db8::3".to_owned()),
    ];
    assert_eq!(seen.additional(), expected);
    let ranked = world.ask("_x._udp.first.gslb.example.org", RecordType::SRV).data();
    let expected = ["0 3 8002 b.first.gslb.example.org.", "1 1 8003 c.first.gslb.example.org."];
    assert_eq!(ranked, expected);
    // A target's address stays in the answers regardless of its state, because a client may have cached the target's
    // name.
    assert_eq!(world.addresses("a.www.gslb.example.org"), ["10.0.0.1"]);
}

#[test]
fn what_is_not_there_is_reported_with_the_time_to_keep_it() {
    let mut world = ResponderTestbed::new();
    let rows = [
        ("x.gslb.example.org", RecordType::A, ResponseCode::NXDomain, Fate::NoName),
        ("x.www.gslb.example.org", RecordType::A, ResponseCode::NXDomain, Fate::NoName),
        ("gslb.example.org", RecordType::A, ResponseCode::NoError, Fate::NoData),
        ("www.gslb.example.org", RecordType::MX, ResponseCode::NoError, Fate::NoData),
        ("first.gslb.example.org", RecordType::HTTPS, ResponseCode::NoError, Fate::NoData),
        // Empty non-terminals exist (RFC 8020).
        ("below.gslb.example.org", RecordType::A, ResponseCode::NoError, Fate::NoData),
        ("_tcp.www.gslb.example.org", RecordType::SRV, ResponseCode::NoError, Fate::NoData),
    ];
    for (name, kind, code, fate) in rows {
        let seen = world.ask(name, kind);
        assert_eq!((seen.code(), seen.fate, seen.data().len()), (code, fate, 0), "{name} {kind}");
        assert!(seen.message.metadata.authoritative);
        let soa = ("gslb.example.org.".to_owned(), 7, SOA.to_owned());
        assert_eq!(seen.authority(), [soa], "{name} {kind}");
    }
    // The name at the end of the aliases determines the code (RFC 6604).
    let lost = world.ask("lost.gslb.example.org", RecordType::A);
    assert_eq!(
        (lost.code(), lost.data()),
        (ResponseCode::NXDomain, vec!["nothing.gslb.example.org.".into()])
    );
    assert_eq!(lost.authority()[0].0, "gslb.example.org.");
    let none = world.ask("alias.gslb.example.org", RecordType::MX);
    assert_eq!(
        (none.code(), none.data().len(), none.authority().len()),
        (ResponseCode::NoError, 1, 1)
    );
}

#[test]
fn queries_outside_our_zones_are_refused() {
    let mut world = ResponderTestbed::new();
    for (name, kind) in [
        ("example.org", RecordType::A),
        ("version.bind", RecordType::TXT),
        ("gslb.example.org", RecordType::AXFR),
        (".", RecordType::NS),
    ] {
        let seen = world.ask(name, kind);
        assert_eq!((seen.code(), seen.fate), (ResponseCode::Refused, Fate::Refused), "{name}");
        assert!(!seen.message.metadata.authoritative && seen.authority().is_empty());
    }
    // Class CHAOS.
    let mut bytes = query("version.bind", RecordType::TXT, None);
    let at = bytes.len() - 1;
    bytes[at] = 3;
    assert_eq!(world.send(&bytes).0, Fate::Refused);
}

#[test]
fn answers_follow_states() {
    let mut world = ResponderTestbed::new();
    let four = |world: &mut ResponderTestbed, name: &str| {
        let mut all: Vec<String> = (0..4).flat_map(|_| world.addresses(name)).collect();
        all.sort();
        all.dedup();
        all
    };
    type Row = (
        &'static [(&'static str, model::snapshot::ServerState)],
        &'static [&'static str],
        &'static [&'static str],
    );
    let rows: [Row; 6] = [
        (&[], &["10.0.0.1", "10.0.0.2"], &["10.0.0.1", "10.0.0.2"]),
        (&[("a", Down)], &["10.0.0.2"], &["10.0.0.2"]),
        (&[("a", Drain)], &["10.0.0.2"], &["10.0.0.2"]),
        (&[("a", Unknown)], &["10.0.0.2"], &["10.0.0.2"]),
        // No server is up, so the answer has the servers of unknown state.
        (&[("a", Unknown), ("b", Down), ("c", Disabled)], &["10.0.0.1"], &["10.0.0.1"]),
        (&[("a", Down), ("b", Down), ("c", Down)], &["10.0.0.1", "10.0.0.2"], &[]),
    ];
    for (states, expected, without) in rows {
        world.set(states);
        assert_eq!(four(&mut world, "www.gslb.example.org"), expected, "{states:?}");
        assert_eq!(four(&mut world, "none.gslb.example.org"), without, "{states:?}");
    }
    assert_eq!(four(&mut world, "last.gslb.example.org"), ["198.51.100.9"]);
    // All of the service's servers are down, and it is the only candidate.
    assert_eq!(four(&mut world, "shop.gslb.example.org"), ["203.0.113.1"]);
    let none = world.ask("none.gslb.example.org", RecordType::A);
    assert_eq!((none.fate, none.authority().len()), (Fate::NoData, 1));
}

#[test]
fn answers_that_do_not_fit_demand_tcp() {
    let mut world = ResponderTestbed::new();
    let full = world.ask("many.gslb.example.org", RecordType::A);
    assert_eq!((full.data().len(), full.fate), (8, Fate::Answered));
    let cut = world.ask_with("many.gslb.example.org", RecordType::AAAA, None);
    assert!(cut.message.metadata.truncation && cut.data().is_empty() && cut.bytes <= 512);
    assert_eq!(cut.fate, Fate::Truncated);
    world.transport = DnsTransport::Tcp;
    let whole = world.ask_with("many.gslb.example.org", RecordType::AAAA, None);
    assert_eq!((whole.data().len(), whole.message.metadata.truncation), (18, false));
}

#[test]
fn malformed_queries_get_their_code_or_no_reply() {
    let mut world = ResponderTestbed::new();
    let good = query("www.gslb.example.org", RecordType::A, None);
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        bytes
    };
    let rows = [
        (good[..11].to_vec(), Fate::Short, 0),
        (with(2, 0x80), Fate::IsAnswer, 0),
        // NOTIFY and UPDATE.
        (with(2, 0x20), Fate::NotImplemented, 4),
        (with(2, 0x28), Fate::NotImplemented, 4),
        (good[..12].to_vec(), Fate::Malformed, 1),
        (good[..good.len() - 1].to_vec(), Fate::Malformed, 1),
        ([&good[..], &[0]].concat(), Fate::Malformed, 1),
        (with(5, 2), Fate::Malformed, 1),
        (with(5, 0), Fate::Malformed, 1),
        (with(7, 1), Fate::Malformed, 1),
        (with(12, 0xc0), Fate::Malformed, 1),
        (with(12, 64), Fate::Malformed, 1),
    ];
    for (bytes, fate, code) in rows {
        let (found, out) = world.send(&bytes);
        assert_eq!(found, fate, "{bytes:?}");
        if fate.is_sent() {
            assert_eq!((out.len(), out[3] & 15), (12, code), "{bytes:?}");
            assert_eq!((&out[..2], out[2] & 0x80), (&bytes[..2], 0x80));
            assert!(Message::from_vec(&out).is_ok());
        }
    }
}

#[test]
fn another_version_of_edns_gets_ours() {
    let mut edns = Edns::new();
    edns.set_version(1);
    let seen = ResponderTestbed::new().ask_with("www.gslb.example.org", RecordType::A, Some(edns));
    // The code 16 also means a bad signature, which is the library's name for it.
    assert_eq!((u16::from(seen.code()), seen.fate), (16, Fate::BadVersion));
    assert_eq!(seen.message.edns.as_ref().map(Edns::version), Some(0));
}
