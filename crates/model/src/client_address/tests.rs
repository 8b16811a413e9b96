//! The walk through chains of proxies, forged ones among them, and that no untrusted byte changes its result.

use std::net::SocketAddr;

use proptest::prelude::*;

use super::{ClientStop, FoundClient, MAX_HOPS, display_client, find_client};
use crate::config::{ClientAddressField, IpPrefix, NetworkSet};

/// The same table is sent to nginx and to Steelyard by an end-to-end test.
const CHAINS: &str = include_str!("../../tests/vectors/client/chains.txt");

fn trusted() -> NetworkSet {
    let networks = [("127.0.0.0", 8), ("10.0.0.0", 8), ("2001:db8:cd::", 48)];
    let prefix = |(text, bits): (&str, u8)| IpPrefix::new(text.parse().unwrap(), bits).unwrap();
    NetworkSet::new(&networks.map(prefix))
}

fn field(name: &str) -> ClientAddressField {
    match name {
        "xff" => ClientAddressField::XForwardedFor,
        "forwarded" => ClientAddressField::Forwarded,
        _ => ClientAddressField::Named("cf-connecting-ip".into()),
    }
}

fn find(peer: &str, name: &str, lines: &[&[u8]]) -> Option<FoundClient> {
    let peer: SocketAddr = peer.parse().unwrap();
    let trusted = trusted();
    find_client(peer, |ip| trusted.contains(ip), &field(name), lines.iter().copied())
}

#[test]
fn chains_lead_to_their_clients() {
    let rows: Vec<&str> =
        CHAINS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    assert!(rows.len() >= 60, "{}", rows.len());
    for row in rows {
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let [name, lines, client, stop, _] = columns[..] else { panic!("{row}") };
        let lines = lines.split(" ;; ").filter(|line| !line.is_empty());
        let lines: Vec<&[u8]> = lines.map(str::as_bytes).collect();
        let found = find("127.0.0.1:40000", name, &lines).unwrap();
        assert_eq!(found.address.ip().to_string(), client, "{row}");
        assert_eq!(found.stop.name(), stop, "{row}");
        assert_eq!(found.hops == 0, client == "127.0.0.1", "{row}");
    }
}

#[test]
fn ports_are_taken_where_they_are_named() {
    for (name, line, want) in [
        ("xff", "203.0.113.9:4711", "203.0.113.9:4711"),
        ("xff", "[2001:db8::9]:4711", "[2001:db8::9]:4711"),
        ("xff", "203.0.113.9", "203.0.113.9"),
        ("single", "203.0.113.9:4711", "203.0.113.9:4711"),
        ("forwarded", "for=\"[2001:db8::9]:4711\"", "[2001:db8::9]:4711"),
        ("forwarded", "for=\"[2001:db8::9]:_x\"", "2001:db8::9"),
    ] {
        let found = find("127.0.0.1:40000", name, &[line.as_bytes()]).unwrap();
        assert_eq!(display_client(found.address), want, "{line}");
    }
}

#[test]
fn the_number_of_hops_is_bounded() {
    let line = vec!["10.0.0.1"; usize::from(MAX_HOPS)].join(",");
    let found = find("127.0.0.1:1", "xff", &[line.as_bytes()]).unwrap();
    assert_eq!((found.hops, found.stop), (MAX_HOPS, ClientStop::AllTrusted));
    let found = find("127.0.0.1:1", "xff", &[format!("10.0.0.2,{line}").as_bytes()]).unwrap();
    assert_eq!((found.hops, found.stop), (MAX_HOPS, ClientStop::TooManyHops));
    assert_eq!(found.address.ip().to_string(), "10.0.0.1");
}

/// Bytes as a client may write them: often ones that have a meaning in lists.
fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        any::<Vec<u8>>(),
        prop::sample::select(vec![
            "\"",
            "\\",
            ",",
            ";",
            "for=",
            "for=\"",
            "10.0.0.1",
            "[",
            "]",
            ":",
            "unknown",
            "_x",
            " ",
            "127.0.0.1",
            "2001:db8:cd::1",
            "by=",
            "=",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn an_untrusted_peer_is_the_client_whatever_it_sends(
        lines in prop::collection::vec(hostile(), 0..4),
    ) {
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        for name in ["xff", "forwarded", "single"] {
            prop_assert_eq!(find("203.0.113.9:5", name, &lines), None);
        }
    }

    #[test]
    fn what_a_client_writes_before_its_proxys_element_changes_nothing(
        before in hostile(),
        lines in prop::collection::vec(hostile(), 0..4),
        is_v6 in any::<bool>(),
        trusted_hops in 0usize..4,
    ) {
        let plain = if is_v6 { "[2001:db8::9]:4711" } else { "203.0.113.9:4711" };
        for (name, element, hop) in [
            ("xff", plain.to_owned(), ", 10.0.0.1"),
            ("forwarded", format!("for=\"{plain}\";by=\"[::1]\";host=\"a,b\""), ", for=10.0.0.1"),
        ] {
            let tail = format!(", {element}{}", hop.repeat(trusted_hops));
            let last = [before.as_slice(), tail.as_bytes()].concat();
            let mut all: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
            all.push(&last);
            let found = find("127.0.0.1:5", name, &all);
            let hops = u16::try_from(trusted_hops).unwrap() + 1;
            let address = plain.parse().unwrap();
            prop_assert_eq!(found, Some(FoundClient { address, hops, stop: ClientStop::Untrusted }));
        }
    }
}
