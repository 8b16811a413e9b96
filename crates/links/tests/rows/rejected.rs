//! Packets that a bundle does not carry are dropped, each with its own reason.

use std::time::Duration;

use links::link_selection::PacketKey;
use model::config::LinkPolicy::{Hash, RoundRobin};

use super::world::{BundleTestbed, DROP, REDIRECT, frame};

fn packet() -> PacketKey {
    PacketKey {
        source: [10, 0, 0, 1].into(),
        destination: [10, 0, 0, 2].into(),
        protocol: 6,
        source_port: 1,
        destination_port: 2,
        fragment: None,
    }
}

#[test]
fn each_refusal_has_its_count() {
    let Some(world) = BundleTestbed::new() else { return };
    let whole = frame(&packet(), 0);
    let expect = |bytes: &[u8], why: &str| {
        let before = world.counts().dropped;
        assert_eq!(world.send(bytes).0, DROP, "{why}");
        let after = world.counts().dropped;
        let moved: Vec<&str> = after
            .iter()
            .filter(|(name, count)| **count > before[*name])
            .map(|(name, _)| *name)
            .collect();
        assert_eq!(moved, [why]);
    };
    world.bundle(Hash, Duration::ZERO, &[1, 1]);
    assert_eq!(world.send(&whole).0, REDIRECT);
    let changed = |at: usize, to: u8| {
        let mut frame = whole.clone();
        frame[at] = to;
        frame
    };
    expect(&changed(0, 3), "multicast");
    expect(&changed(13, 6), "not-ip");
    expect(&changed(14, 0x42), "malformed");
    expect(&whole[..36], "malformed");
    let mut six = whole[..14].to_vec();
    six[12..14].copy_from_slice(&[0x86, 0xdd]);
    six.extend([0x60, 0, 0, 0, 0, 0, 44, 64]);
    six.extend([0; 32]);
    expect(&six, "malformed");
    world.entry(Hash, Duration::ZERO, &[1, 1], |member| (member.v4, member.v6) = (None, None));
    expect(&whole, "no-next-hop-of-its-family");
    // IPv4 may use a next hop of IPv6 (RFC 5549); IPv6 may not use one of IPv4.
    world.entry(Hash, Duration::ZERO, &[1, 1], |member| member.v4 = None);
    assert_eq!(world.send(&whole).0, REDIRECT);
    world.bundle(RoundRobin, Duration::ZERO, &[0, 0]);
    expect(&whole, "no-link-lives");
}
