//! Advertisements written and read again, and every defect by one packet that has it.

use proptest::prelude::*;

use super::*;

const V4: IpHeader = IpHeader {
    source: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    destination: IpAddr::V4(GROUP_V4),
    hops: HOPS,
};

fn advert(version: VrrpVersion) -> VrrpAdvertisement {
    let addresses = vec![IpAddr::from([192, 0, 2, 10]), IpAddr::from([192, 0, 2, 11])];
    VrrpAdvertisement {
        version,
        group: 51,
        priority: 150,
        interval: Duration::from_secs(1),
        addresses,
    }
}

fn bytes(version: VrrpVersion) -> Vec<u8> {
    emit(&advert(version), V4.source, V4.destination)
}

/// The same packet with one byte changed and a valid checksum.
fn changed(version: VrrpVersion, at: usize, byte: u8) -> Vec<u8> {
    let mut bytes = bytes(version);
    bytes[at] = byte;
    bytes[6..8].fill(0);
    let sum = checksum::checksum(&bytes);
    bytes[6..8].copy_from_slice(&sum.to_be_bytes());
    bytes
}

#[test]
fn the_layout_is_that_of_the_documents() {
    let three = bytes(VrrpVersion::V3);
    assert_eq!(three[..6], [0x31, 51, 150, 2, 0, 100]);
    assert_eq!(three[8..], [192, 0, 2, 10, 192, 0, 2, 11]);
    let two = bytes(VrrpVersion::V2);
    assert_eq!(two[..6], [0x21, 51, 150, 2, 0, 1]);
    assert_eq!(two.len(), 8 + 8 + 8);
    // By hand: 2133 + 9602 + 0001 + c000 + 020a + c000 + 020b = 23b49 + 2 carried, inverted.
    assert_eq!(checksum::checksum(&two), 0);
}

#[test]
fn each_defect_has_its_name() {
    let short = bytes(VrrpVersion::V3)[..7].to_vec();
    let mut torn = bytes(VrrpVersion::V3);
    torn[2] ^= 1;
    let rows = [
        (short, AdvertisementDefect::Short),
        (changed(VrrpVersion::V3, 0, 0x41), AdvertisementDefect::Version),
        (changed(VrrpVersion::V3, 0, 0x32), AdvertisementDefect::Kind),
        (changed(VrrpVersion::V3, 1, 0), AdvertisementDefect::Group),
        (torn, AdvertisementDefect::Checksum),
        (changed(VrrpVersion::V2, 4, 1), AdvertisementDefect::Password),
        (changed(VrrpVersion::V2, 4, 2), AdvertisementDefect::Digest),
        (changed(VrrpVersion::V2, 4, 3), AdvertisementDefect::Authentication),
        (changed(VrrpVersion::V3, 3, 0), AdvertisementDefect::Length),
        (changed(VrrpVersion::V3, 3, 3), AdvertisementDefect::Length),
        (changed(VrrpVersion::V3, 5, 0), AdvertisementDefect::Interval),
    ];
    for (bytes, defect) in rows {
        assert_eq!(parse(&bytes, &V4), Err(defect), "{}", defect.name());
    }
    let far = IpHeader { hops: 254, ..V4 };
    assert_eq!(parse(&bytes(VrrpVersion::V3), &far), Err(AdvertisementDefect::Hops));
    let alone = IpHeader { destination: [192, 0, 2, 2].into(), ..far };
    let sent = emit(&parse(&bytes(VrrpVersion::V3), &V4).unwrap(), alone.source, alone.destination);
    assert!(parse(&sent, &alone).is_ok() && !alone.is_link_local(), "to one member alone");
}

#[test]
fn version_three_is_bound_to_its_addresses_and_tolerates_a_plain_sum_over_ipv4() {
    assert_eq!(parse(&changed(VrrpVersion::V3, 2, 7), &V4).map(|one| one.priority), Ok(7));
    let v6 = IpHeader {
        source: "fe80::1".parse().unwrap(),
        destination: IpAddr::V6(GROUP_V6),
        hops: HOPS,
    };
    let shared = VrrpAdvertisement {
        addresses: vec!["2001:db8::1".parse().unwrap()],
        ..advert(VrrpVersion::V3)
    };
    let bytes = emit(&shared, v6.source, v6.destination);
    assert_eq!(parse(&bytes, &v6), Ok(shared));
    let other = IpHeader { source: "fe80::2".parse().unwrap(), ..v6 };
    assert_eq!(parse(&bytes, &other), Err(AdvertisementDefect::Checksum));
}

/// Version, interval, shared addresses, and the sender's address.
type AdvertisementRow = (VrrpVersion, Duration, Vec<IpAddr>, IpAddr);

fn over_v4() -> impl Strategy<Value = AdvertisementRow> {
    let ips = prop::collection::vec(any::<[u8; 4]>(), 1..20);
    let parts = (any::<bool>(), 1..256u64, ips, any::<[u8; 4]>());
    parts.prop_map(|(two, interval, ips, source)| {
        let (version, interval) = if two {
            (VrrpVersion::V2, Duration::from_secs(interval))
        } else {
            (VrrpVersion::V3, Duration::from_millis(10 * interval))
        };
        (version, interval, ips.into_iter().map(IpAddr::from).collect(), IpAddr::from(source))
    })
}

fn over_v6() -> impl Strategy<Value = AdvertisementRow> {
    let ips = prop::collection::vec(any::<[u8; 16]>(), 1..20);
    let parts = (1..4096u64, ips, any::<[u8; 16]>());
    parts.prop_map(|(interval, ips, source)| {
        let ips = ips.into_iter().map(IpAddr::from).collect();
        (VrrpVersion::V3, Duration::from_millis(10 * interval), ips, IpAddr::from(source))
    })
}

fn advert_of(
    said: impl Strategy<Value = AdvertisementRow>,
) -> impl Strategy<Value = (VrrpAdvertisement, IpAddr)> {
    (said, 1..=255u8, any::<u8>()).prop_map(|(said, group, priority)| {
        let (version, interval, addresses, source) = said;
        (VrrpAdvertisement { version, group, priority, interval, addresses }, source)
    })
}

proptest! {
    #[test]
    fn encoding_round_trips((advert, source) in advert_of(prop_oneof![over_v4(), over_v6()])) {
        let destination = if source.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() };
        let bytes = emit(&advert, source, destination);
        let read = parse(&bytes, &IpHeader { source, destination, hops: HOPS });
        prop_assert_eq!(read, Ok(advert));
    }

    #[test]
    fn any_bytes_are_an_advertisement_or_have_a_defect(bytes in prop::collection::vec(any::<u8>(), 0..80), v6: bool) {
        let (source, destination) = if v6 {
            (IpAddr::from([7u8; 16]), GROUP_V6.into())
        } else {
            (IpAddr::from([7u8; 4]), GROUP_V4.into())
        };
        let _ = parse(&bytes, &IpHeader { source, destination, hops: HOPS });
    }

    // Over IPv4 two checksums are valid, so a bit flip may turn one into the other.
    #[test]
    fn a_flipped_bit_is_noticed((advert, source) in advert_of(over_v6()), at: prop::sample::Index, bit in 0..8u32) {
        let destination = GROUP_V6.into();
        let mut bytes = emit(&advert, source, destination);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let envelope = IpHeader { source, destination, hops: HOPS };
        prop_assert!(parse(&bytes, &envelope).is_err());
    }
}
