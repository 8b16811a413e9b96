//! Capture files, whole and damaged: both formats, byte orders, clocks, gzip.

use std::io::Write;

use super::*;

fn n32(value: u32, big: bool) -> [u8; 4] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn n16(value: u16, big: bool) -> [u8; 2] {
    if big { value.to_be_bytes() } else { value.to_le_bytes() }
}

fn pcap(magic: u32, big: bool, records: &[(u32, u32, &[u8])]) -> Vec<u8> {
    let mut out = n32(magic, big).to_vec();
    out.extend([n16(2, big), n16(4, big)].concat());
    for value in [0, 0, 65_535, 1] {
        out.extend(n32(value, big));
    }
    for (seconds, fraction, bytes) in records {
        for value in [*seconds, *fraction, bytes.len() as u32, bytes.len() as u32 + 7] {
            out.extend(n32(value, big));
        }
        out.extend(*bytes);
    }
    out
}

fn block(kind: u32, big: bool, body: &[u8]) -> Vec<u8> {
    let mut body = body.to_vec();
    body.resize(body.len().next_multiple_of(4), 0);
    let length = n32(body.len() as u32 + 12, big);
    [&n32(kind, big)[..], &length, &body, &length].concat()
}

fn section(big: bool) -> Vec<u8> {
    block(0x0a0d_0d0a, big, &[&n32(0x1a2b_3c4d, big)[..], &[0; 4], &[0xff; 8]].concat())
}

fn interface(big: bool, link: u16, options: &[u8]) -> Vec<u8> {
    block(1, big, &[&n16(link, big)[..], &[0; 2], &n32(96, big), options].concat())
}

fn enhanced(big: bool, interface: u32, units: u64, bytes: &[u8]) -> Vec<u8> {
    let high = (units >> 32) as u32;
    let low = units as u32;
    let captured_length = bytes.len() as u32;
    let fields = [interface, high, low, captured_length, captured_length + 1]
        .map(|value| n32(value, big))
        .concat();
    block(6, big, &[&fields[..], bytes].concat())
}

/// Time, link, first byte and length on the wire.
type FrameSummary = (i64, u16, u8, u32);

/// The frames of a file, and the damage that ended it.
fn frames(bytes: &[u8]) -> (Vec<FrameSummary>, Option<CaptureDamage>) {
    let mut out = Vec::new();
    let mut capture = match CaptureReader::open(bytes) {
        Ok(capture) => capture,
        Err(damage) => return (out, Some(damage)),
    };
    loop {
        match capture.frame() {
            Ok(Some(f)) => {
                let first = f.bytes.first().copied().unwrap_or_default();
                out.push((f.time_ns, f.link, first, f.original_len));
            }
            Ok(None) => return (out, None),
            Err(damage) => return (out, Some(damage)),
        }
    }
}

#[test]
fn classic_files_of_both_orders_and_clocks() {
    let records: &[(u32, u32, &[u8])] = &[(1, 5, &[9, 9]), (2, 6, &[8])];
    for big in [false, true] {
        let micro = frames(&pcap(0xa1b2_c3d4, big, records));
        assert_eq!(micro.0, [(1_000_005_000, 1, 9, 9), (2_000_006_000, 1, 8, 8)]);
        assert!(micro.1.is_none());
        let nano = frames(&pcap(0xa1b2_3c4d, big, records));
        assert_eq!(nano.0[0].0, 1_000_000_005);
    }
}

#[test]
fn sections_and_interfaces_have_their_own_order_clock_and_link() {
    // Nanoseconds, and ten seconds to add.
    let options = [&n16(9, true)[..], &n16(1, true), &[9, 0, 0, 0], &n16(14, true), &n16(8, true)];
    let options = [&options.concat()[..], &[0, 0, 0, 0, 0, 0, 0, 10], &[0; 4]].concat();
    let mut file = [section(false), interface(false, 1, &[]), interface(false, 101, &[])].concat();
    file.extend(block(0x0000_0bad, false, b"nobody knows"));
    file.extend(enhanced(false, 1, 2_000_001, &[7, 7, 7]));
    file.extend([section(true), interface(true, 113, &options)].concat());
    file.extend(enhanced(true, 0, 1_500_000_001, &[6]));
    file.extend(block(3, true, &[&n32(2, true)[..], &[5, 5]].concat()));
    let (found, damage) = frames(&file);
    assert!(damage.is_none(), "{damage:?}");
    let later = 11_500_000_001;
    assert_eq!(found, [(2_000_001_000, 101, 7, 4), (later, 113, 6, 2), (later, 113, 5, 2)]);
}

#[test]
fn drops_are_read_from_statistics() {
    let count = [&n16(5, false)[..], &n16(8, false), &3_u64.to_le_bytes()].concat();
    let body = [&n32(0, false)[..], &[0; 8], &count].concat();
    let file = [section(false), interface(false, 1, &[]), block(5, false, &body)].concat();
    let mut capture = CaptureReader::open(&file[..]).unwrap();
    assert!(capture.frame().unwrap().is_none());
    assert_eq!((capture.drops(), capture.snaplen()), (3, 96));
}

#[test]
fn packed_files_are_unpacked_and_cut_ones_read_up_to_the_cut() {
    let file = pcap(0xa1b2_c3d4, false, &[(1, 0, &[1; 60]), (2, 0, &[2; 60])]);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(&file).unwrap();
    let packed = packer.finish().unwrap();
    assert_eq!(frames(&packed).0.len(), 2);
    let (found, damage) = frames(&file[..file.len() - 10]);
    assert_eq!(found.len(), 1);
    assert!(matches!(damage, Some(CaptureDamage::Truncated { offset: 100 })), "{damage:?}");
    let (_, damage) = frames(&packed[..packed.len() / 2]);
    assert!(damage.is_some());
}

/// The same bytes packed by zstd, and by lz4.
fn packed(bytes: &[u8]) -> [Vec<u8>; 2] {
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(bytes).unwrap();
    [ruzstd::encoding::compress_to_vec(bytes, level), lz4.finish().unwrap()]
}

#[test]
fn zstd_and_lz4_are_unpacked_also_in_several_frames() {
    let packets: Vec<[u8; 60]> = (0..200u8).map(|n| [n; 60]).collect();
    let rows: Vec<(u32, u32, &[u8])> =
        packets.iter().enumerate().map(|(at, bytes)| (at as u32, 0, &bytes[..])).collect();
    let file = pcap(0xa1b2_c3d4, false, &rows);
    let [first, rest] = [&file[..1_000], &file[1_000..]].map(packed);
    for (whole, (first, rest)) in packed(&file).into_iter().zip(first.into_iter().zip(rest)) {
        let (found, damage) = frames(&whole);
        assert!(found.len() == 200 && damage.is_none(), "{damage:?}");
        let (found, damage) = frames(&[first, rest].concat());
        assert!(found.len() == 200 && damage.is_none(), "{} {damage:?}", found.len());
        for cut in 5..whole.len() {
            let (found, damage) = frames(&whole[..cut]);
            assert!(found.len() <= 200 && (damage.is_some() || found.len() == 200), "{cut}");
        }
    }
    let [zstd, _] = packed(&file);
    let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3][..], &zstd].concat();
    assert_eq!(frames(&skipped).0.len(), 200);
}

#[test]
fn a_window_that_does_not_fit_and_a_bomb_are_refused_with_a_reason() {
    let reason = |bytes: &[u8]| match frames(bytes).1 {
        Some(CaptureDamage::Read { source, .. }) => source.to_string(),
        other => panic!("{other:?}"),
    };
    let wide = reason(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xff, 1, 0, 0]);
    assert!(wide.contains("expected at most 8388608"), "{wide}");
    let stranger = [packed(b"x")[0].clone(), b"stranger".to_vec()].concat();
    assert!(frames(&stranger).1.is_some());
    // A block of 128 KiB of zeros in four bytes (RFC 8878, 3.1.1.2), again and again: each is 8,192 empty records.
    let mut bomb = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    let head = pcap(0xa1b2_c3d4, false, &[]);
    bomb.extend(((head.len() as u32) << 3).to_le_bytes()[..3].iter());
    bomb.extend(&head);
    for _ in 0..4_096 {
        bomb.extend(&((128_u32 << 10) << 3 | 2).to_le_bytes()[..3]);
        bomb.push(0);
    }
    let text = reason(&bomb);
    assert!(text.contains("1100 times its size"), "{text}");
}

#[test]
fn files_that_are_no_captures_are_rejected() {
    for bytes in [&b""[..], b"x", b"hello, world", &[0x1f, 0x8b, 0, 0]] {
        let damage = frames(bytes).1.unwrap();
        assert!(damage.to_string().contains("expected") || damage.is_total(), "{damage}");
    }
    let mut absurd = pcap(0xa1b2_c3d4, false, &[(1, 0, &[1; 60])]);
    absurd[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(frames(&absurd).1, Some(CaptureDamage::Length { .. })));
    let orphan = [section(false), enhanced(false, 3, 0, &[1])].concat();
    assert!(matches!(frames(&orphan).1, Some(CaptureDamage::Interface { interface: 3, .. })));
}
