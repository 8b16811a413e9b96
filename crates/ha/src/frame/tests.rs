//! Frames byte by byte.

use proptest::prelude::*;

use super::*;

const OURS: Link = [2, 0, 0, 0, 0, 1];

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
    assert_eq!(sum::with_pseudo(message, ip.into(), ALL_NODES.into(), ICMP_V6), 0);
    assert_eq!((frame[ETHERNET + 7], &frame[..6]), (255, &ALL_NODES_LINK[..]));
}

#[test]
fn advertisements_are_found_behind_options_and_padding_is_left_out() {
    let mut frame = ethernet([1, 0, 0x5e, 0, 0, 18], OURS, TYPE_V4);
    frame.extend([0x46, 0, 0, 28, 0, 0, 0, 0, 255, 112, 0, 0, 192, 0, 2, 1, 224, 0, 0, 18]);
    frame.extend([1; 4]);
    frame.extend([9; 4]);
    frame.extend([0; 20]);
    let (envelope, bytes) = vrrp(&frame).unwrap();
    assert_eq!((envelope.hops, bytes), (255, &[9, 9, 9, 9][..]));
    assert_eq!(envelope.source, IpAddr::from([192, 0, 2, 1]));
    frame[ETHERNET + 6] = 0x20;
    assert!(vrrp(&frame).is_none());
}

proptest! {
    #[test]
    fn no_frame_is_too_strange(frame in prop::collection::vec(any::<u8>(), 0..120), v6: bool) {
        let mut frame = frame;
        if frame.len() > 14 {
            frame[12..14].copy_from_slice(if v6 { &TYPE_V6 } else { &TYPE_V4 });
        }
        if let Some((_, bytes)) = vrrp(&frame) {
            prop_assert!(bytes.len() < frame.len());
        }
    }
}
