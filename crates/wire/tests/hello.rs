//! ClientHellos: built field by field, cut at every byte, spread over records, and malformed in every named way.

use proptest::prelude::*;
use wire::client_hello::{ClientHelloError, ClientHelloPeek, parse_client_hello};

/// A ClientHello with these extensions.
fn hello(extensions: &[(u16, Vec<u8>)]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([2, 9, 9]);
    // One reserved (GREASE) cipher suite and two real ones.
    body.extend([0, 6, 0x0a, 0x0a, 0x13, 0x01, 0x13, 0x02]);
    body.extend([1, 0]);
    let mut all = Vec::new();
    for (kind, value) in extensions {
        all.extend(kind.to_be_bytes());
        all.extend((value.len() as u16).to_be_bytes());
        all.extend(value);
    }
    if !extensions.is_empty() {
        body.extend((all.len() as u16).to_be_bytes());
        body.extend(all);
    }
    let mut message = vec![1];
    message.extend(&(body.len() as u32).to_be_bytes()[1..]);
    message.extend(body);
    message
}

fn name(host: &str) -> (u16, Vec<u8>) {
    let mut value = ((host.len() + 3) as u16).to_be_bytes().to_vec();
    value.push(0);
    value.extend((host.len() as u16).to_be_bytes());
    value.extend(host.bytes());
    (0, value)
}

/// The message in records of at most `each` bytes.
fn records(message: &[u8], each: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in message.chunks(each.max(1)) {
        bytes.extend([22, 3, 1]);
        bytes.extend((part.len() as u16).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

fn whole(name: Option<&str>) -> ClientHelloPeek {
    ClientHelloPeek::Complete { name: name.map(str::to_owned) }
}

#[test]
fn names_are_found_among_what_is_not_known() {
    let grease = (0x2a2a, vec![0]);
    let ech = (0xfe0d, vec![0; 300]);
    for (extensions, want) in [
        (vec![], whole(None)),
        (vec![grease.clone()], whole(None)),
        (vec![name("Shop.Example")], whole(Some("shop.example"))),
        (
            vec![grease.clone(), name("shop.example."), (16, vec![0, 3, 2, b'h', b'2'])],
            whole(Some("shop.example")),
        ),
        (vec![ech, name("outer.example")], whole(Some("outer.example"))),
        (vec![name("a"), name("b")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name("")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name("shop..example")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name("shop.example..")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name(&"a".repeat(64))], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name("a b")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![name("b\u{fc}cher")], ClientHelloPeek::Other(ClientHelloError::BadName)),
        (vec![(0, vec![0, 9, 0])], ClientHelloPeek::Other(ClientHelloError::Malformed)),
        (vec![(0, vec![])], ClientHelloPeek::Other(ClientHelloError::Malformed)),
    ] {
        let message = hello(&extensions);
        assert_eq!(parse_client_hello(&records(&message, 1 << 14)), want, "{extensions:?}");
    }
}

#[test]
fn a_cut_hello_waits_for_more_at_every_byte_and_in_records_of_any_size() {
    let message = hello(&[(0x0a0a, vec![]), name("shop.example"), (21, vec![0; 200])]);
    for each in [1, 2, 3, 5, 100, 1 << 14] {
        let bytes = records(&message, each);
        for cut in 0..bytes.len() {
            assert_eq!(
                parse_client_hello(&bytes[..cut]),
                ClientHelloPeek::Partial,
                "{cut} of records of {each}"
            );
        }
        let more = [&bytes[..], b"\x17\x03\x03rest"].concat();
        assert_eq!(parse_client_hello(&more), whole(Some("shop.example")), "records of {each}");
    }
}

/// Servers skip alerts and empty records before a ClientHello, and do not check the version of a record.
#[test]
fn what_servers_pass_over_before_a_hello_hides_no_name() {
    let message = hello(&[name("shop.example")]);
    let plain = records(&message, 1 << 14);
    let halves =
        [&records(&message[..20], 20)[..], &[22, 3, 1, 0, 0], &records(&message[20..], 1 << 14)];
    let other_version = [&[22, 2, 9], &plain[3..]].concat();
    for before in
        [&b"\x16\x03\x01\x00\x00"[..], b"\x15\x03\x01\x00\x02\x01\x5a", b"\x14\x03\x03\x00\x01\x01"]
    {
        for times in [1, 3, 200] {
            let bytes = [&before.repeat(times)[..], &plain].concat();
            assert_eq!(
                parse_client_hello(&bytes),
                whole(Some("shop.example")),
                "{times} of {before:?}"
            );
            for cut in 0..bytes.len() {
                assert_eq!(
                    parse_client_hello(&bytes[..cut]),
                    ClientHelloPeek::Partial,
                    "{cut} of {before:?}"
                );
            }
        }
        let endless = before.repeat(20_000);
        assert_eq!(
            parse_client_hello(&endless),
            ClientHelloPeek::Other(ClientHelloError::TooLong),
            "{before:?}"
        );
    }
    assert_eq!(parse_client_hello(&halves.concat()), whole(Some("shop.example")));
    assert_eq!(parse_client_hello(&other_version), whole(Some("shop.example")));
}

#[test]
fn what_is_no_hello_is_reported_at_once() {
    for (bytes, why) in [
        (&b"GET / HTTP/1.1\r\n"[..], ClientHelloError::NotTls),
        (b"\x15GET", ClientHelloError::NotTls),
        (b"\x80\x2e\x01\x03\x01", ClientHelloError::NotTls),
        (b"\x16\x03\x01\x40\x01", ClientHelloError::Malformed),
        (b"\x16\x03\x01\x00\x05\x02\x00\x00\x00", ClientHelloError::OtherMessage),
        (b"\x16\x03\x01\x00\x05\x01\x00\x80\x00", ClientHelloError::TooLong),
        (b"\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03", ClientHelloError::Malformed),
        (b"\x15\x03\x01\x00\x02\x01\x5aGET", ClientHelloError::OtherMessage),
        (b"\x16\x03\x01\x00\x00\x17\x03\x01", ClientHelloError::OtherMessage),
    ] {
        assert_eq!(parse_client_hello(bytes), ClientHelloPeek::Other(why), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
        shaped in any::<bool>(),
    ) {
        if shaped && bytes.len() > 9 {
            let length = (bytes.len() - 5) as u16;
            bytes[..3].copy_from_slice(&[22, 3, 1]);
            bytes[3..5].copy_from_slice(&length.to_be_bytes());
            bytes[5] = 1;
        }
        parse_client_hello(&bytes);
    }

    #[test]
    fn one_flipped_byte_never_panics_and_never_makes_a_longer_name(
        at in 0_usize..300,
        bit in 0_u8..8,
        each in 1_usize..400,
    ) {
        let message = hello(&[name("shop.example"), (0x1a1a, vec![1; 40])]);
        let mut bytes = records(&message, each);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let ClientHelloPeek::Complete { name: Some(name) } = parse_client_hello(&bytes) {
            prop_assert!(name.len() <= 253);
        }
    }
}
