//! Advertisements written and read again, and every defect by one packet that has it.

use proptest::prelude::*;

use super::*;

const V4: Envelope = Envelope {
    source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    destination: IpAddr::V4(GROUP_V4),
    hops: HOPS,
};

fn advert(version: Version) -> Advert {
    let addresses = vec![IpAddr::from([192, 0, 2, 10]), IpAddr::from([192, 0, 2, 11])];
    Advert { version, group: 51, priority: 150, interval: Duration::from_secs(1), addresses }
}

fn bytes(version: Version) -> Vec<u8> {
    emit(&advert(version), V4.source, V4.destination)
}

/// The same with one byte changed and the checksum right again.
fn changed(version: Version, at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = bytes(version);
    bytes[at] = byte;
    bytes[6..8].fill(0);
    let sum = sum::of(&bytes);
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn the_layout_is_that_of_the_documents() {
    let three = bytes(Version::Three);
    assert_eq!(three[..6], [0x31, 51, 150, 2, 0, 100]);
    assert_eq!(three[8..], [192, 0, 2, 10, 192, 0, 2, 11]);
    let two = bytes(Version::Two);
    assert_eq!(two[..6], [0x21, 51, 150, 2, 0, 1]);
    assert_eq!(two.len(), 8 + 8 + 8);
    // By hand: 2133 + 9602 + 0001 + c000 + 020a + c000 + 020b = 23b49 + 2 carried, inverted.
    assert_eq!(sum::of(&two), 0);
}

#[test]
fn each_defect_has_its_name() {
    let short = bytes(Version::Three)[..7].to_vec();
    let mut torn = bytes(Version::Three);
    torn[2] ^= 1;
    let rows = [
        (short, Defect::Short),
        (changed(Version::Three, 0, 0x41), Defect::Version),
        (changed(Version::Three, 0, 0x32), Defect::Kind),
        (changed(Version::Three, 1, 0), Defect::Group),
        (torn, Defect::Checksum),
        (changed(Version::Two, 4, 1), Defect::Password),
        (changed(Version::Two, 4, 2), Defect::Digest),
        (changed(Version::Two, 4, 3), Defect::Authentication),
        (changed(Version::Three, 3, 0), Defect::Length),
        (changed(Version::Three, 3, 3), Defect::Length),
        (changed(Version::Three, 5, 0), Defect::Interval),
    ];
    for (bytes, defect) in rows {
        assert_eq!(parse(&bytes, &V4), Err(defect), "{}", defect.name());
    }
    let far = Envelope { hops: 254, ..V4 };
    assert_eq!(parse(&bytes(Version::Three), &far), Err(Defect::Hops));
    let alone = Envelope { destination: [192, 0, 2, 2].into(), ..far };
    let sent = emit(&parse(&bytes(Version::Three), &V4).unwrap(), alone.source, alone.destination);
    assert!(parse(&sent, &alone).is_ok() && !alone.is_near(), "to one member alone");
}

#[test]
fn version_three_is_bound_to_its_addresses_and_tolerates_a_plain_sum_over_ipv4() {
    assert_eq!(parse(&changed(Version::Three, 2, 7), &V4).map(|one| one.priority), Ok(7));
    let v6 = Envelope {
        source: "fe80::1".parse().unwrap(),
        destination: IpAddr::V6(GROUP_V6),
        hops: HOPS,
    };
    let shared =
        Advert { addresses: vec!["2001:db8::1".parse().unwrap()], ..advert(Version::Three) };
    let bytes = emit(&shared, v6.source, v6.destination);
    assert_eq!(parse(&bytes, &v6), Ok(shared));
    let other = Envelope { source: "fe80::2".parse().unwrap(), ..v6 };
    assert_eq!(parse(&bytes, &other), Err(Defect::Checksum));
}

/// Version, interval, shared addresses, and who sends.
type Said = (Version, Duration, Vec<IpAddr>, IpAddr);

fn over_v4() -> impl Strategy<Value = Said> {
    let ips = prop::collection::vec(any::<[u8; 4]>(), 1..20);
    let parts = (any::<bool>(), 1..256u64, ips, any::<[u8; 4]>());
    parts.prop_map(|(two, interval, ips, source)| {
        let (version, interval) = if two {
            (Version::Two, Duration::from_secs(interval))
        } else {
            (Version::Three, Duration::from_millis(10 * interval))
        };
        (version, interval, ips.into_iter().map(IpAddr::from).collect(), IpAddr::from(source))
    })
}

fn over_v6() -> impl Strategy<Value = Said> {
    let ips = prop::collection::vec(any::<[u8; 16]>(), 1..20);
    let parts = (1..4096u64, ips, any::<[u8; 16]>());
    parts.prop_map(|(interval, ips, source)| {
        let ips = ips.into_iter().map(IpAddr::from).collect();
        (Version::Three, Duration::from_millis(10 * interval), ips, IpAddr::from(source))
    })
}

fn advert_of(said: impl Strategy<Value = Said>) -> impl Strategy<Value = (Advert, IpAddr)> {
    (said, 1..=255u8, any::<u8>()).prop_map(|(said, group, priority)| {
        let (version, interval, addresses, source) = said;
        (Advert { version, group, priority, interval, addresses }, source)
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read((advert, source) in advert_of(prop_oneof![over_v4(), over_v6()])) {
        let destination = if source.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() };
        let bytes = emit(&advert, source, destination);
        let read = parse(&bytes, &Envelope { source, destination, hops: HOPS });
        prop_assert_eq!(read, Ok(advert));
    }

    #[test]
    fn any_bytes_are_an_advertisement_or_have_a_defect(bytes in prop::collection::vec(any::<u8>(), 0..80), v6: bool) {
        let (source, destination) = if v6 {
            (IpAddr::from([7u8; 16]), GROUP_V6.into())
        } else {
            (IpAddr::from([7u8; 4]), GROUP_V4.into())
        };
        let _ = parse(&bytes, &Envelope { source, destination, hops: HOPS });
    }

    // Over IPv4 two sums are right, so that a flip may turn one into the other.
    #[test]
    fn a_flipped_bit_is_noticed((advert, source) in advert_of(over_v6()), at: prop::sample::Index, bit in 0..8u32) {
        let destination = GROUP_V6.into();
        let mut bytes = emit(&advert, source, destination);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let envelope = Envelope { source, destination, hops: HOPS };
        prop_assert!(parse(&bytes, &envelope).is_err());
    }
}
