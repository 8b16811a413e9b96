//! Any bytes: no panic, and an answer that a second parser can read, within the allowed size.

use hickory_proto::op::{Edns, Message};
use hickory_proto::rr::RecordType;
use names::counts::{DnsTransport, Fate};
use names::question::DnsQuestion;
use names::responder::AMPLIFICATION;
use proptest::prelude::*;

use super::world::{ResponderTestbed, query};

/// Properties of every answer.
fn check_response(world: &mut ResponderTestbed, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (fate, out) = world.send(bytes);
    if !fate.is_sent() {
        return Ok(());
    }
    let message = Message::from_vec(&out);
    prop_assert!(message.is_ok(), "{:?} for {bytes:?}: {out:?}", message);
    let message = message.unwrap();
    prop_assert_eq!(&out[..2], &bytes[..2]);
    prop_assert!(out[2] & 0x80 != 0);
    if world.transport == DnsTransport::Udp {
        prop_assert!(
            out.len() <= 1232 && out.len() <= bytes.len() * AMPLIFICATION,
            "{}",
            out.len()
        );
    }
    let same = |question: &DnsQuestion<'_>| {
        message.queries.len() == 1 && bytes[12..].starts_with(question.section)
    };
    if !matches!(fate, Fate::Malformed | Fate::NotImplemented) {
        let question = DnsQuestion::read(bytes).unwrap();
        prop_assert!(same(&question));
    }
    Ok(())
}

fn names() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "www.gslb.example.org",
        "many.gslb.example.org",
        "first.gslb.example.org",
        "_http._tcp.www.gslb.example.org",
        "gslb.example.org",
        "alias.gslb.example.org",
        "lost.gslb.example.org",
        "x.gslb.example.org",
        "near.gslb.example.org",
        "example.org",
    ])
}

proptest! {
    #[test]
    fn any_bytes_are_borne(bytes in proptest::collection::vec(any::<u8>(), 0..200), tcp in any::<bool>()) {
        let mut world = ResponderTestbed::new();
        world.transport = if tcp { DnsTransport::Tcp } else { DnsTransport::Udp };
        check_response(&mut world, &bytes)?;
    }

    #[test]
    fn queries_with_bytes_changed_are_borne(
        name in names(),
        kind in any::<u16>(),
        size in any::<u16>(),
        options in proptest::collection::vec(any::<u8>(), 0..40),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        edns in any::<bool>(),
    ) {
        let mut bytes = query(name, RecordType::from(kind), None);
        if edns {
            bytes[11] = 1;
            bytes.extend([0, 0, 41]);
            bytes.extend(size.to_be_bytes());
            bytes.extend([0, 0, 0, 0, 0, options.len() as u8]);
            bytes.extend(&options);
        }
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let mut world = ResponderTestbed::new();
        check_response(&mut world, &bytes)?;
        world.transport = DnsTransport::Tcp;
        check_response(&mut world, &bytes)?;
    }

    /// This crate's parser reads the messages that the library writes.
    #[test]
    fn both_parsers_read_a_query_alike(name in names(), kind in 1u16..300, size in 0u16..5000, dnssec in any::<bool>()) {
        let mut edns = Edns::new();
        edns.set_max_payload(size).set_dnssec_ok(dnssec);
        let bytes = query(name, RecordType::from(kind), Some(edns));
        let ours = DnsQuestion::read(&bytes).unwrap();
        let theirs = Message::from_vec(&bytes).unwrap();
        prop_assert_eq!(names::domain::format_name(ours.name()), name);
        prop_assert_eq!(ours.kind, u16::from(theirs.queries[0].query_type()));
        let (ours, theirs) = (ours.edns.unwrap(), theirs.edns.unwrap());
        prop_assert_eq!(ours.size, theirs.max_payload().max(512));
        prop_assert_eq!(ours.dnssec_ok, theirs.flags().dnssec_ok);
    }
}
