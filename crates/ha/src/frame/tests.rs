//! Frames byte by byte.

use proptest::prelude::*;

use super::*;

const OURS: MacAddress = [2, 0, 0, 0, 0, 1];

#[test]
fn arp_asks_everybody_for_its_own_address() {
    let frame = announcement([192, 0, 2, 10].into(), OURS);
    assert_eq!(frame.len(), 42);
    assert_eq!(frame[..6], BROADCAST);
    assert_eq!(frame[20..22], [0, 1]);
    assert_eq!((&frame[28..32], &frame[38..42]), (&[192, 0, 2, 10][..], &[192, 0, 2, 10][..]));
}

#[test]
fn a_neighbour_advertisement_overrides_and_its_sum_is_right() {
    let ip: Ipv6Addr = "2001:db8::10".parse().unwrap();
    let frame = announcement(ip.into(), OURS);
    let message = &frame[ETHERNET + 40..];
    assert_eq!((message[0], message[4], message.len()), (136, OVERRIDE, 32));
    assert_eq!(
        checksum::checksum_with_pseudo_header(message, ip.into(), ALL_NODES.into(), ICMP_V6),
        0
    );
    assert_eq!((frame[ETHERNET + 7], &frame[..6]), (255, &ALL_NODES_LINK[..]));
}

#[test]
fn advertisements_are_found_behind_options_and_padding_is_left_out() {
    let mut frame = ethernet([1, 0, 0x5e, 0, 0, 18], OURS, TYPE_V4);
    frame.extend([0x46, 0, 0, 28, 0, 0, 0, 0, 255, 112, 0, 0, 192, 0, 2, 1, 224, 0, 0, 18]);
    frame.extend([1; 4]);
    frame.extend([9; 4]);
    frame.extend([0; 20]);
    let VrrpFramePacket { header: envelope, advert: bytes } = parse_vrrp_frame(&frame).unwrap();
    assert_eq!((envelope.hops, bytes), (255, &[9, 9, 9, 9][..]));
    assert_eq!(envelope.source, IpAddr::from([192, 0, 2, 1]));
    frame[ETHERNET + 6] = 0x20;
    assert!(parse_vrrp_frame(&frame).is_none());
}

#[test]
fn a_virtual_router_speaks_for_itself() {
    let router = [0, 0, 0x5e, 0, 1, 51];
    let sources: [IpAddr; 2] = [[192, 0, 2, 1].into(), "fe80::1".parse().unwrap()];
    for (source, to) in sources.into_iter().zip([GROUP_LINK_V4, GROUP_LINK_V6]) {
        let frame = vrrp_frame(&[9; 12], source, router);
        assert_eq!((&frame[..6], &frame[6..12]), (&to[..], &router[..]));
        let VrrpFramePacket { header: envelope, advert: bytes } = parse_vrrp_frame(&frame).unwrap();
        assert_eq!(
            (envelope.source, envelope.is_link_local(), bytes),
            (source, true, &[9; 12][..])
        );
        assert!(envelope.destination.is_multicast());
        if source.is_ipv4() {
            assert_eq!(checksum::checksum(&frame[ETHERNET..ETHERNET + 20]), 0);
        }
    }
}

proptest! {
    #[test]
    fn no_frame_is_too_strange(frame in prop::collection::vec(any::<u8>(), 0..120), v6: bool) {
        let mut frame = frame;
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(if v6 { &TYPE_V6 } else { &TYPE_V4 });
        }
        if let Some(VrrpFramePacket { advert: bytes, .. }) = parse_vrrp_frame(&frame) {
            prop_assert!(bytes.len() < frame.len());
        }
    }
}

#[test]
fn a_probe_asks_and_claims_nothing() {
    let frame = address_probe([192, 0, 2, 10].into(), OURS);
    assert_eq!((&frame[..6], &frame[20..22]), (&BROADCAST[..], &[0, 1][..]));
    assert_eq!((&frame[28..32], &frame[38..42]), (&[0; 4][..], &[192, 0, 2, 10][..]));
    assert_eq!(claimed_address(&frame), None, "a probe is of nobody");
    let ip: Ipv6Addr = "2001:db8::a1b2:10".parse().unwrap();
    let frame = address_probe(ip.into(), OURS);
    let group: Ipv6Addr = "ff02::1:ffb2:10".parse().unwrap();
    assert_eq!(frame[..6], [0x33, 0x33, 0xff, 0xb2, 0, 0x10]);
    assert_eq!((&frame[22..38], &frame[38..54]), (&[0; 16][..], &group.octets()[..]));
    let message = &frame[ETHERNET + 40..];
    assert_eq!((message[0], message.len(), &message[8..24]), (135, 24, &ip.octets()[..]));
    assert_eq!(
        checksum::checksum_with_pseudo_header(
            message,
            Ipv6Addr::UNSPECIFIED.into(),
            group.into(),
            ICMP_V6
        ),
        0
    );
    assert_eq!(claimed_address(&frame), None);
}

// Rows: I35
#[test]
fn announcements_and_replies_claim_the_address() {
    let v4: IpAddr = [192, 0, 2, 10].into();
    let v6: IpAddr = "2001:db8::10".parse().unwrap();
    for ip in [v4, v6] {
        let frame = announcement(ip, OURS);
        assert_eq!(claimed_address(&frame), Some(ClaimedAddress { ip, link: OURS }));
        for short in 0..frame.len() - 14 {
            let _ = claimed_address(&frame[..short]);
        }
    }
    let mut reply = announcement(v4, OURS);
    reply[21] = 2;
    assert_eq!(claimed_address(&reply), Some(ClaimedAddress { ip: v4, link: OURS }));
    let whole = announcement(v6, OURS);
    // Without the option the frame's source address counts.
    assert_eq!(claimed_address(&whole[..78]), Some(ClaimedAddress { ip: v6, link: OURS }));
    let mut routed = whole;
    routed[21] = 254;
    assert_eq!(claimed_address(&routed), None);
}
