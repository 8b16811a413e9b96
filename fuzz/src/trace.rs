//! Targets of the trace analysis: any bytes are either a capture or rejected with a reason, and the sums are always
//! consistent.

use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::{ReadOutcome, ingest_capture};
use trace::report_builder::{CaptureSource, build_report};

/// A capture file. The limits are small, so that connections are analysed in parts too.
pub fn capture(bytes: &[u8]) {
    // As an analysis of a live interface too, which forgets connections.
    let endless = bytes.len() % 2 == 1;
    let settings = AnalysisSettings {
        max_events: 64,
        max_connections: 16,
        endless,
        ..AnalysisSettings::default()
    };
    let mut analysis = Analysis::new(settings);
    let mut source = CaptureSource::default();
    match ingest_capture(&mut analysis, &mut source, "fuzz", bytes, |_| ()) {
        Ok(ReadOutcome::Complete) => assert!(source.damage.is_none()),
        Ok(ReadOutcome::Partial(damage)) => assert!(!damage.to_string().is_empty()),
        Err(damage) => assert!(!damage.to_string().is_empty()),
    }
    let report = build_report(analysis.finish(), source);
    for transaction in report.connections.iter().flat_map(|one| &one.transactions) {
        let owners = &transaction.owners;
        let by_owner =
            owners.client + owners.network + owners.server + owners.balancer + owners.unknown;
        let place = &transaction.location;
        let by_place = place.request + place.server + place.response;
        for sum in [by_owner, by_place] {
            assert!((sum - transaction.total_seconds).abs() < 0.001, "{transaction:?}");
        }
    }
    let packets = |end: &trace::report::EndReport| end.sent.packets + end.sent.duplicates;
    let told: u64 =
        report.connections.iter().map(|c| packets(&c.client) + packets(&c.server)).sum();
    if endless {
        assert_eq!(report.capture.beyond_limit, 0);
        assert!(report.connections.len() <= 16 && told <= report.capture.tcp_packets);
    } else {
        assert_eq!(told + report.capture.beyond_limit, report.capture.tcp_packets);
    }
}

/// Typical byte sequences of captures.
pub const WORDS: &[&[u8]] = &[
    b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00",
    b"\xa1\xb2\x3c\x4d\x00\x02\x00\x04",
    b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a",
    b"\x06\x00\x00\x00",
    b"\x05\x00\x00\x00",
    b"\x08\x00\x45\x00",
    b"\x86\xdd\x60\x00",
    b"\x81\x00",
    b"\x88\x64\x11\x00",
    b"\x88\x47",
    b"\x12\xb5\x00\x40\x00\x00\x08\x00\x00\x00",
    b"\x10\x00\x88\xbe",
    b"\xaa\xaa\x03\x00\x00\x00\x08\x00",
    b"\x01\x01\x08\x0a",
    b"\x05\x0a",
    b"GET / HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
    b"\x16\x03\x01\x00\x05",
    b"\x17\x03\x03\x00\x20",
    b"\xc0\x00\x00\x00\x01\x08",
    b"\xf0\x6b\x33\x43\xcf\x00",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
];

pub fn pcap_seeds() -> Vec<Vec<u8>> {
    let first = study();
    vec![first[..3_000].to_vec(), quic(), first]
}

/// A handshake of QUIC, twice from other ports, in raw IP.
fn quic() -> Vec<u8> {
    let long = |first: u8, bytes: usize| {
        let mut out = vec![first, 0, 0, 0, 1, 4, 1, 2, 3, 4, 4, 5, 6, 7, 8];
        if first & 0x30 == 0 {
            out.push(0);
        }
        out.extend((0x4000 | bytes as u16).to_be_bytes());
        out.resize(out.len() + bytes, 9);
        out
    };
    let mut out: Vec<u8> =
        [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    for port in [40_000_u16, 40_001] {
        let payloads = [
            (true, long(0xc0, 1_200)),
            (false, [long(0xc0, 90), long(0xe0, 300)].concat()),
            (true, [long(0xe0, 60), vec![0x61; 30]].concat()),
            (false, vec![0x41; 40]),
        ];
        for (at, (is_from_client, payload)) in payloads.into_iter().enumerate() {
            let mut frame = vec![0x45, 0];
            frame.extend((28 + payload.len() as u16).to_be_bytes());
            frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
            let ends = if is_from_client { [1, 2] } else { [2, 1] };
            frame.extend(ends.map(|end| [10, 0, 0, end]).concat());
            let ports = if is_from_client { [port, 443] } else { [443, port] };
            frame.extend(ports.map(u16::to_be_bytes).concat());
            frame.extend((8 + payload.len() as u16).to_be_bytes());
            frame.extend([0, 0]);
            frame.extend(payload);
            let length = frame.len() as u32;
            out.extend([7, at as u32, length, length].map(u32::to_le_bytes).concat());
            out.extend(frame);
        }
    }
    out
}

pub fn pcapng_seeds() -> Vec<Vec<u8>> {
    let first = study();
    vec![pcapng(&first), pcapng(&first[..3_000])]
}

/// Compressed captures: mutations change the compressed bytes, and thus the capture.
pub fn gzip_seeds() -> Vec<Vec<u8>> {
    let first = study();
    let packed = |bytes: &[u8], level: flate2::Compression| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), level);
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        packer.finish().unwrap()
    };
    // A stored block lets mutations reach the capture itself, up to the checksum at its end.
    let stored = packed(&first[..3_000], flate2::Compression::none());
    vec![packed(&first, flate2::Compression::fast()), stored]
}

/// Captures packed by zstd: whole, and in two frames, of which the second one is damaged more often than the head.
pub fn zstd_seeds() -> Vec<Vec<u8>> {
    let first = study();
    let packed = |bytes: &[u8]| {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    };
    let raw = |bytes: &[u8]| {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Uncompressed)
    };
    vec![packed(&first), [raw(&first[..1_000]), packed(&first[1_000..])].concat()]
}

/// Captures packed by lz4, likewise.
pub fn lz4_seeds() -> Vec<Vec<u8>> {
    let first = study();
    let packed = |bytes: &[u8]| {
        let mut packer = lz4_flex::frame::FrameEncoder::new(Vec::new());
        std::io::Write::write_all(&mut packer, bytes).unwrap();
        packer.finish().unwrap()
    };
    vec![packed(&first), [packed(&first[..1_000]), packed(&first[1_000..])].concat()]
}

/// The first packets of the recreated study.
fn study() -> Vec<u8> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/trace/tests/captures/two_lb_slow_lb2.pcap.gz"
    );
    let packed = std::fs::File::open(file).unwrap();
    let mut first = Vec::new();
    let mut whole = flate2::read::GzDecoder::new(packed);
    std::io::Read::read_to_end(&mut std::io::Read::take(&mut whole, 8_000), &mut first).unwrap();
    first
}

/// The packets of a classic file as enhanced packet blocks of pcapng.
fn pcapng(classic: &[u8]) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let section = [&0x1a2b_3c4d_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
    let mut out = block(0x0a0d_0d0a, &section);
    out.extend(block(1, &[1, 0, 0, 0, 0, 0, 1, 0]));
    let mut rest = &classic[24..];
    while rest.len() > 16 {
        let kept = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let Some(bytes) = rest.get(16..16 + kept) else { break };
        let fields = [&[0; 8][..], &rest[4..8], &rest[8..16], bytes].concat();
        out.extend(block(6, &fields));
        rest = &rest[16 + kept..];
    }
    out
}
