//! Faults of a broken device on the path: it rewrites the TCP window scale or drops large packets.
//!
//! Pure. It handles Ethernet frames with IPv4 or IPv6 directly inside and leaves others unchanged.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkFault {
    #[default]
    None,
    /// Rewrites TCP's window scale option to 0 while windows stay scaled (RFC 7323 §2.2), so the receiver sees windows
    /// that are too small.
    WindowScale,
    /// Drops IP packets larger than this without an ICMP error (RFC 2923 §2.1).
    BlackHole(u32),
}

/// The effect of a fault on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFate {
    Untouched,
    Changed,
    Dropped,
}

impl LinkFault {
    /// Applies the fault to a frame.
    pub fn apply_to(self, frame: &mut [u8]) -> FrameFate {
        match self {
            LinkFault::None => FrameFate::Untouched,
            LinkFault::BlackHole(most) if frame.len().saturating_sub(LINK) > most as usize => {
                FrameFate::Dropped
            }
            LinkFault::BlackHole(_) => FrameFate::Untouched,
            LinkFault::WindowScale => {
                match tcp_header_offset(frame)
                    .and_then(|at| clear_window_scale(frame.get_mut(at..)?))
                {
                    Some(()) => FrameFate::Changed,
                    None => FrameFate::Untouched,
                }
            }
        }
    }
}

/// Bytes of the Ethernet header.
const LINK: usize = 14;
/// IPPROTO_TCP, and below the flag SYN of RFC 9293 §3.1.
const TCP: u8 = 6;
const SYN: u8 = 0x02;

/// Offset of the TCP header; `None`: not TCP, or not in this fragment.
fn tcp_header_offset(frame: &[u8]) -> Option<usize> {
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    match kind {
        0x0800 => {
            let first = *frame.get(LINK)?;
            let offset = u16::from_be_bytes([*frame.get(LINK + 6)?, *frame.get(LINK + 7)?]);
            let whole = *frame.get(LINK + 9)? == TCP && offset & 0x1fff == 0;
            whole.then(|| LINK + usize::from(first & 0x0f) * 4)
        }
        0x86dd => (*frame.get(LINK + 6)? == TCP).then_some(LINK + 40),
        _ => None,
    }
}

/// Sets the window scale of a SYN segment to 0 and updates the checksum (RFC 1624, equation 3).
fn clear_window_scale(tcp: &mut [u8]) -> Option<()> {
    let words = *tcp.get(12)? >> 4;
    let flags = *tcp.get(13)?;
    let end = usize::from(words) * 4;
    if flags & SYN == 0 || end > tcp.len() {
        return None;
    }
    let mut at = 20;
    while at < end {
        match tcp[at] {
            0 => return None,
            1 => at += 1,
            3 if at + 2 < end && tcp[at + 1] == 3 => return set_byte(tcp, at + 2, 0),
            // A length below 2 is malformed and would never advance (RFC 9293 §3.1).
            _ => at += usize::from(*tcp.get(at + 1)?).max(2),
        }
    }
    None
}

/// Sets a byte; `None`: the byte already had this value.
fn set_byte(tcp: &mut [u8], at: usize, byte: u8) -> Option<()> {
    if tcp[at] == byte {
        return None;
    }
    let word = |tcp: &[u8], at: usize| {
        u32::from(u16::from_be_bytes([tcp[at], *tcp.get(at + 1).unwrap_or(&0)]))
    };
    let before = word(tcp, at & !1);
    tcp[at] = byte;
    let after = word(tcp, at & !1);
    let mut sum = (!word(tcp, 16) & 0xffff) + (!before & 0xffff) + after;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    tcp[16..18].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN with options: segment size, padding, window scale 7.
    fn syn(pad: usize) -> Vec<u8> {
        let mut tcp = vec![0; 20];
        tcp[13] = SYN;
        tcp.extend([2, 4, 5, 180]);
        tcp.extend(vec![1; pad]);
        tcp.extend([3, 3, 7]);
        tcp.resize(tcp.len().next_multiple_of(4), 0);
        tcp[12] = (tcp.len() as u8 / 4) << 4;
        let sum = checksum(&tcp);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        tcp
    }

    /// Checksum of the segment alone; the pseudo header is constant and does not matter here.
    fn checksum(tcp: &[u8]) -> u16 {
        let mut sum: u32 = 0;
        for (at, pair) in tcp.chunks(2).enumerate() {
            if at != 8 {
                sum += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
            }
        }
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn v4(tcp: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; LINK + 20];
        frame[12] = 0x08;
        frame[LINK] = 0x45;
        frame[LINK + 9] = TCP;
        frame.extend_from_slice(tcp);
        frame
    }

    fn v6(tcp: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; LINK + 40];
        frame[12] = 0x86;
        frame[13] = 0xdd;
        frame[LINK] = 0x60;
        frame[LINK + 6] = TCP;
        frame.extend_from_slice(tcp);
        frame
    }

    #[test]
    fn the_scale_of_a_syn_is_0_and_its_checksum_right() {
        for pad in 0..4 {
            let tcp = syn(pad);
            for (mut frame, at) in [(v4(&tcp), LINK + 20), (v6(&tcp), LINK + 40)] {
                assert_eq!(LinkFault::WindowScale.apply_to(&mut frame), FrameFate::Changed);
                let found = &frame[at..];
                assert_eq!(found[26 + pad], 0, "{found:?}");
                assert_eq!(found[16..18], checksum(found).to_be_bytes(), "padded by {pad}");
                assert_eq!(
                    LinkFault::WindowScale.apply_to(&mut frame),
                    FrameFate::Untouched,
                    "it is 0"
                );
            }
        }
    }

    #[test]
    fn what_is_no_whole_syn_is_left_as_it_is() {
        let mut other = syn(1);
        other[13] = 0x10;
        let whole = v4(&syn(1));
        let mut frames = vec![v4(&other), v4(&[]), v6(&syn(1)[..21]), vec![], vec![0; 14]];
        frames.extend((0..whole.len()).map(|end| whole[..end].to_vec()));
        for frame in frames {
            let mut damaged = frame.clone();
            assert_eq!(
                (LinkFault::WindowScale.apply_to(&mut damaged), damaged),
                (FrameFate::Untouched, frame)
            );
        }
        let mut silly = v4(&syn(0));
        silly[LINK + 20 + 21] = 0;
        LinkFault::WindowScale.apply_to(&mut silly);
        assert_eq!(LinkFault::None.apply_to(&mut v4(&syn(1))), FrameFate::Untouched);
    }

    #[test]
    fn large_packets_vanish() {
        let hole = LinkFault::BlackHole(1_400);
        assert_eq!(hole.apply_to(&mut vec![0; LINK + 1_400]), FrameFate::Untouched);
        assert_eq!(hole.apply_to(&mut vec![0; LINK + 1_401]), FrameFate::Dropped);
        assert_eq!(hole.apply_to(&mut []), FrameFate::Untouched);
    }

    proptest::proptest! {
        #[test]
        fn frames_of_any_kind_are_met(mut tcp in proptest::collection::vec(0..=255_u8, 0..80), words in 5..16_u8) {
            if let Some(byte) = tcp.get_mut(12) {
                *byte = words << 4;
            }
            if let Some(byte) = tcp.get_mut(13) {
                *byte |= SYN;
            }
            for mut frame in [tcp.clone(), v4(&tcp), v6(&tcp)] {
                let length = frame.len();
                LinkFault::WindowScale.apply_to(&mut frame);
                proptest::prop_assert_eq!(frame.len(), length);
            }
        }
    }
}
