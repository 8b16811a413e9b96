//! Headers of the PROXY protocol: expected results, malformed in every named way, and cut at every byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

use std::net::SocketAddr;

use proptest::prelude::*;
use wire::proxy_protocol::{
    LONGEST, ProxiedAddresses, ProxyHeaderError, ProxyHeaderResult, ProxyProtocolHeader,
    ProxyVersion, read_header, write_header,
};

fn ends(source: &str, destination: &str) -> Option<ProxiedAddresses> {
    Some(ProxiedAddresses {
        source: source.parse().unwrap(),
        destination: destination.parse().unwrap(),
    })
}

/// A binary header: the version and command byte, the family byte, and the rest.
fn binary(first: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut out = b"\r\n\r\n\0\r\nQUIT\n".to_vec();
    out.extend([first, family]);
    out.extend((rest.len() as u16).to_be_bytes());
    out.extend(rest);
    out
}

const FOUR: [u8; 12] = [192, 0, 2, 7, 203, 0, 113, 10, 0x30, 0x39, 0x01, 0xbb];

fn six() -> Vec<u8> {
    let address = |last| {
        let mut out = [0; 16];
        out[..4].copy_from_slice(&[0x20, 1, 0x0d, 0xb8]);
        out[15] = last;
        out
    };
    [&address(7)[..], &address(1)[..], &[0, 80, 0, 81][..]].concat()
}

#[test]
fn what_each_header_contains() {
    let four = ends("192.0.2.7:12345", "203.0.113.10:443");
    let v6 = ends("[2001:db8::7]:80", "[2001:db8::1]:81");
    let tlvs = [&FOUR[..], &[0x02, 0, 3, b'a', b'.', b'b', 0x04, 0, 0]].concat();
    let unix = [0; 216];
    let rows: [(Vec<u8>, ProxyVersion, Option<ProxiedAddresses>); 13] = [
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345 443\r\n".to_vec(), ProxyVersion::V1, four),
        (b"PROXY TCP6 2001:db8::7 2001:db8::1 80 81\r\n".to_vec(), ProxyVersion::V1, v6),
        (
            b"PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n".to_vec(),
            ProxyVersion::V1,
            ends("0.0.0.0:0", "0.0.0.0:0"),
        ),
        (b"PROXY TCP6 :: :: 0 65535\r\n".to_vec(), ProxyVersion::V1, ends("[::]:0", "[::]:65535")),
        (b"PROXY UNKNOWN\r\n".to_vec(), ProxyVersion::V1, None),
        (b"PROXY UNKNOWN what ever 1 2 3\r\n".to_vec(), ProxyVersion::V1, None),
        (binary(0x21, 0x11, &FOUR), ProxyVersion::V2, four),
        (binary(0x21, 0x21, &six()), ProxyVersion::V2, v6),
        (binary(0x21, 0x11, &tlvs), ProxyVersion::V2, four),
        (binary(0x20, 0x00, &[]), ProxyVersion::V2, None),
        // `LOCAL`: the rest of the header is ignored.
        (binary(0x20, 0x5f, &FOUR), ProxyVersion::V2, None),
        (binary(0x21, 0x00, &FOUR), ProxyVersion::V2, None),
        (binary(0x21, 0x31, &unix), ProxyVersion::V2, None),
    ];
    for (bytes, version, ends) in rows {
        let length = bytes.len();
        let want = Ok(ProxyHeaderResult::Complete(ProxyProtocolHeader {
            version,
            addresses: ends,
            length,
        }));
        assert_eq!(read_header(&bytes), want, "{}", bytes.escape_ascii());
        assert_eq!(read_header(&[&bytes[..], b"GET / HTTP/1.1\r\n"].concat()), want);
    }
}

#[test]
fn every_defect_has_its_row() {
    let with = |rest: &[u8]| binary(0x21, 0x11, &[&FOUR[..], rest].concat());
    let rows: [(&[u8], ProxyHeaderError); 32] = [
        (b"GET / HTTP/1.1\r\n\r\n", ProxyHeaderError::Missing),
        (b"\x16\x03\x01", ProxyHeaderError::Missing),
        (b"PRO ", ProxyHeaderError::Missing),
        (b"POST / HTTP/1.1\r\n", ProxyHeaderError::Missing),
        (b"\r\n\r\nGET / HTTP", ProxyHeaderError::Missing),
        (b"\r\n\r\n\0\r\nQUIX", ProxyHeaderError::Missing),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345 443\n", ProxyHeaderError::BadLine),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345 443\r ", ProxyHeaderError::BadLine),
        (b"PROXY TCP5 192.0.2.7 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadLine),
        (b"PROXY tcp4 192.0.2.7 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadLine),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345\r\n", ProxyHeaderError::BadLine),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345 443 1\r\n", ProxyHeaderError::BadLine),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 12345 \xff\r\n", ProxyHeaderError::BadLine),
        (b"PROXY  TCP4 192.0.2.7 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadLine),
        (b"PROXY TCP4 192.0.2.007 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadAddress),
        (b"PROXY TCP4 192.0.2 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadAddress),
        (b"PROXY TCP4 2001:db8::7 2001:db8::1 80 81\r\n", ProxyHeaderError::BadAddress),
        (b"PROXY TCP6 192.0.2.7 203.0.113.10 12345 443\r\n", ProxyHeaderError::BadAddress),
        (b"PROXY TCP6 fe80::1%eth0 2001:db8::1 80 81\r\n", ProxyHeaderError::BadAddress),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 65536 443\r\n", ProxyHeaderError::BadPort),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 +1 443\r\n", ProxyHeaderError::BadPort),
        (b"PROXY TCP4 192.0.2.7 203.0.113.10 080 443\r\n", ProxyHeaderError::BadPort),
        (&[b"PROXY UNKNOWN "[..].to_vec(), vec![b'f'; 92]].concat(), ProxyHeaderError::TooLong),
        (&binary(0x11, 0x11, &FOUR), ProxyHeaderError::BadVersion),
        (&binary(0x22, 0x11, &FOUR), ProxyHeaderError::BadCommand),
        (&binary(0x21, 0x12, &FOUR), ProxyHeaderError::BadFamily),
        (&binary(0x21, 0x41, &FOUR), ProxyHeaderError::BadFamily),
        (&binary(0x21, 0x11, &FOUR[..11]), ProxyHeaderError::NoAddresses),
        (&binary(0x21, 0x21, &FOUR), ProxyHeaderError::NoAddresses),
        (&with(&[0x04, 0, 1]), ProxyHeaderError::BadTlv),
        (&with(&[0x03, 0, 3, 1, 2, 3]), ProxyHeaderError::BadTlv),
        (&with(&[0x03, 0, 4, 1, 2, 3, 4]), ProxyHeaderError::BadSum),
    ];
    for (bytes, defect) in rows {
        assert_eq!(read_header(bytes), Err(defect), "{}", bytes.escape_ascii());
    }
    // The error is returned before the body of an oversized header arrives.
    let long = binary(0x21, 0x11, &vec![0; LONGEST]);
    assert_eq!(read_header(&long[..16]), Err(ProxyHeaderError::TooLong));
}

/// A checksum covers the whole header, with its own four bytes as zeros.
#[test]
fn a_right_sum_is_taken_and_each_wrong_bit_is_found() {
    let summed =
        binary(0x21, 0x11, &[&FOUR[..], &[0x03, 0, 4, 0, 0, 0, 0, 0x04, 0, 1, 9]].concat());
    let sum = bitwise(&summed).to_be_bytes();
    let mut right = summed;
    right[31..35].copy_from_slice(&sum);
    let four = ends("192.0.2.7:12345", "203.0.113.10:443");
    let length = right.len();
    let want = Ok(ProxyHeaderResult::Complete(ProxyProtocolHeader {
        version: ProxyVersion::V2,
        addresses: four,
        length,
    }));
    assert_eq!(read_header(&right), want);
    let twice = [&right[16..], &right[28..35]].concat();
    assert!(matches!(
        read_header(&binary(0x21, 0x11, &twice)),
        Err(ProxyHeaderError::BadSum | ProxyHeaderError::BadTlv)
    ));
    // With another type the value is not a checksum.
    for bit in (8 * 16..8 * length).filter(|bit| bit / 8 != 28) {
        let mut wrong = right.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(read_header(&wrong), want, "bit {bit}");
    }
}

/// CRC-32C by definition, bit by bit.
fn bitwise(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for byte in bytes {
        rest ^= u32::from(*byte);
        for _ in 0..8 {
            rest = if rest & 1 == 1 { (rest >> 1) ^ 0x82f6_3b78 } else { rest >> 1 };
        }
    }
    !rest
}

/// Reads like a worker: never more bytes than the minimum that is missing. Returns the result and the bytes read.
fn by_need(bytes: &[u8]) -> (Result<ProxyHeaderResult, ProxyHeaderError>, usize) {
    let mut taken = 0;
    loop {
        match read_header(&bytes[..taken]) {
            Ok(ProxyHeaderResult::Partial(missing)) => {
                assert!(missing > 0);
                if taken + missing > bytes.len() {
                    return (Ok(ProxyHeaderResult::Partial(missing)), taken);
                }
                taken += missing;
            }
            end => return (end, taken),
        }
    }
}

fn address() -> impl Strategy<Value = SocketAddr> {
    prop_oneof![
        (any::<[u8; 4]>(), any::<u16>()).prop_map(SocketAddr::from),
        (any::<[u8; 16]>(), any::<u16>()).prop_map(SocketAddr::from),
    ]
}

fn version() -> impl Strategy<Value = ProxyVersion> {
    prop_oneof![Just(ProxyVersion::V1), Just(ProxyVersion::V2)]
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_nothing_behind_it(
        version in version(),
        source in address(),
        destination in address(),
        somebody in any::<bool>(),
        behind in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let ends = somebody.then_some(ProxiedAddresses { source, destination });
        let mut bytes = Vec::new();
        write_header(version, ends, &mut bytes);
        let length = bytes.len();
        for cut in 0..length {
            let Ok(ProxyHeaderResult::Partial(missing)) = read_header(&bytes[..cut]) else {
                panic!("cut at {cut}: {:?}", read_header(&bytes[..cut]));
            };
            prop_assert!(cut + missing <= length, "{missing} are not missing at {cut} of {length}");
        }
        bytes.extend(behind);
        let (end, taken) = by_need(&bytes);
        prop_assert_eq!(taken, length);
        let Ok(ProxyHeaderResult::Complete(header)) = end else { panic!("{end:?}") };
        prop_assert_eq!((header.version, header.length), (version, length));
        let plain = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
        let plain = |ends: Option<ProxiedAddresses>| ends.map(|e| (plain(e.source), plain(e.destination)));
        prop_assert_eq!(plain(header.addresses), plain(ends));
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..300), kind in 0_u8..3) {
        let start: &[u8] = match kind { 0 => b"", 1 => b"PROXY TCP4 ", _ => b"\r\n\r\n\0\r\nQUIT\n\x21" };
        let bytes = [start, &bytes].concat();
        if let Ok(ProxyHeaderResult::Complete(header)) = read_header(&bytes) {
            prop_assert!(header.length <= bytes.len().min(LONGEST));
        }
        let (_, taken) = by_need(&bytes);
        prop_assert!(taken <= bytes.len());
    }
}
