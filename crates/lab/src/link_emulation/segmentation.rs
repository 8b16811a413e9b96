//! Segment trains: segments of one stream that a host passes to its link in one piece, because a network card would
//! split them (GSO). Decides which links pass them whole, and counts their frames on a wire.
//!
//! A processor cannot handle single frames at much more than a gigabit a second. A train arrives when its last bit
//! does, so it must be far shorter than the accuracy of a millisecond. Pure.

use std::time::Duration;

use super::fault::LinkFault;
use super::queue::LinkShape;

/// Bytes of the header that the kernel puts before each received frame and expects before each sent one: `struct
/// virtio_net_hdr` of linux/virtio_net.h.
pub const HEAD: usize = 10;
/// Links faster than this pass trains, bits a second.
const FAST: u64 = 1_000_000_000;
/// Longest transmission time of a train.
const LONGEST: Duration = Duration::from_micros(200);
/// The kernel's default limit for a link's GSO size, bytes (GSO_LEGACY_MAX_SIZE).
const LARGEST: u64 = 65_536;
/// Header offset of the train's type, 0 for a single frame.
const KIND: usize = 1;
/// The type for UDP, and the flag for ECN beside a type.
const UDP: u8 = 5;
const CONGESTION: u8 = 0x80;
/// Header offsets of the segments' payload size and of the transport header's position.
const PAYLOAD: usize = 4;
const TRANSPORT: usize = 6;

/// The longest train in bytes that a link of this shape passes; `None`: it passes single frames.
///
/// Loss, reordering, duplication, faults and captures apply to single frames, so they exclude trains.
pub fn max_segment_train(shape: &LinkShape, tapped: bool) -> Option<u64> {
    let LinkShape { drop_every: lose_every, loss_ppm, reorder_ppm, duplicate_ppm, fault, .. } =
        shape;
    let whole = *lose_every == 0 && [*loss_ppm, *reorder_ppm, *duplicate_ppm] == [0; 3];
    let fast = shape.bits_per_second > FAST;
    let bytes = u128::from(shape.bits_per_second) * LONGEST.as_nanos() / 8_000_000_000;
    let bytes = u64::try_from(bytes).unwrap_or(LARGEST).min(LARGEST);
    (fast && whole && *fault == LinkFault::None && !tapped).then_some(bytes)
}

/// The frames that carry a packet on a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireFrames {
    pub count: u64,
    /// Bytes of all of them together.
    pub bytes: usize,
}

/// The frames of a packet on a wire. `frame` starts with the Ethernet header.
pub fn wire_frames(head: &[u8; HEAD], frame: &[u8]) -> WireFrames {
    let half = |at: usize| usize::from(u16::from_ne_bytes([head[at], head[at + 1]]));
    let payload = half(PAYLOAD);
    let transport = half(TRANSPORT);
    if head[KIND] == 0 || payload == 0 {
        return WireFrames { count: 1, bytes: frame.len() };
    }
    let heads = if head[KIND] & !CONGESTION == UDP {
        transport + 8
    } else {
        // The upper half of the TCP header's 13th byte is its length in words of 4 bytes (RFC 9293 §3.1).
        transport + frame.get(transport + 12).map_or(0, |byte| usize::from(byte >> 4) * 4)
    };
    let segments = frame.len().saturating_sub(heads).div_ceil(payload).max(1);
    WireFrames { count: segments as u64, bytes: frame.len() + (segments - 1) * heads }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(kind: u8, payload: u16, transport: u16) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[KIND] = kind;
        head[PAYLOAD..PAYLOAD + 2].copy_from_slice(&payload.to_ne_bytes());
        head[TRANSPORT..TRANSPORT + 2].copy_from_slice(&transport.to_ne_bytes());
        head
    }

    /// A packet with headers of 14, 20 and 32 bytes and this much payload.
    fn tcp(payload: usize) -> Vec<u8> {
        let mut frame = vec![0; 66 + payload];
        frame[34 + 12] = 8 << 4;
        frame
    }

    #[test]
    fn each_segment_has_heads_of_its_own() {
        let rows = [
            (head(0, 0, 0), tcp(1_448), (1, 1_514)),
            (head(1, 1_448, 34), tcp(1_448 * 3), (3, 3 * 1_514)),
            (head(1, 1_448, 34), tcp(1_448 * 2 + 1), (3, 2 * 1_514 + 67)),
            (head(4 | CONGESTION, 1_448, 34), tcp(1_449), (2, 1_514 + 67)),
            (head(UDP, 1_000, 34), vec![0; 42 + 2_500], (3, 3 * 42 + 2_500)),
        ];
        for (head, frame, (count, bytes)) in rows {
            assert_eq!(wire_frames(&head, &frame), WireFrames { count, bytes }, "{head:?}");
        }
    }

    #[test]
    fn heads_that_lie_are_one_frame_or_some() {
        for length in [0, 14, 40, 60] {
            let frame = vec![0xff; length];
            for lie in [head(1, 1, u16::MAX), head(1, u16::MAX, 0), head(UDP, 1, 20)] {
                let WireFrames { count, bytes } = wire_frames(&lie, &frame);
                assert!(count >= 1 && count <= length.max(1) as u64 && bytes >= length);
            }
        }
    }

    #[test]
    fn only_fast_lines_that_spare_single_frames_pass_trains() {
        let of = |bits_per_second| LinkShape { bits_per_second, ..LinkShape::default() };
        assert_eq!(max_segment_train(&of(5_000_000_000), false), Some(LARGEST));
        assert_eq!(max_segment_train(&of(2_000_000_000), false), Some(50_000));
        assert_eq!(max_segment_train(&of(1_000_000_000), false), None);
        assert_eq!(max_segment_train(&of(0), false), None);
        assert_eq!(max_segment_train(&of(5_000_000_000), true), None, "somebody listens");
        let fast = of(5_000_000_000);
        let meddled = [
            LinkShape { drop_every: 7, ..fast.clone() },
            LinkShape { loss_ppm: 1, ..fast.clone() },
            LinkShape { reorder_ppm: 1, ..fast.clone() },
            LinkShape { duplicate_ppm: 1, ..fast },
        ];
        assert!(meddled.iter().all(|shape| max_segment_train(shape, false).is_none()));
    }
}
