//! The target of the PROXY protocol: bytes that may begin with a header.
//!
//! Properties besides not panicking: no prefix of a complete header is rejected or asks for more bytes than the header
//! has, and a header that is written from the result is parsed to the same result.

use wire::proxy_protocol::{
    LONGEST, ProxiedAddresses, ProxyHeaderResult, read_header, write_header,
};

/// Bytes at the beginning of a connection.
pub fn header(bytes: &[u8]) {
    match read_header(bytes) {
        Ok(ProxyHeaderResult::Complete(header)) => {
            assert!(header.length <= bytes.len().min(LONGEST), "longer than what came");
            for cut in 0..header.length {
                let Ok(ProxyHeaderResult::Partial(missing)) = read_header(&bytes[..cut]) else {
                    panic!("the first {cut} bytes are {:?}", read_header(&bytes[..cut]));
                };
                assert!(missing > 0 && cut + missing <= header.length, "{missing} at {cut}");
            }
            let mut again = Vec::new();
            write_header(header.version, header.addresses, &mut again);
            let Ok(ProxyHeaderResult::Complete(second)) = read_header(&again) else {
                panic!("{header:?} is not read again")
            };
            assert_eq!(second.addresses, header.addresses);
            assert_eq!((second.version, second.length), (header.version, again.len()));
        }
        Ok(ProxyHeaderResult::Partial(missing)) => {
            assert!(missing > 0 && bytes.len() + missing <= LONGEST, "{missing} are missing");
        }
        Err(_) => {}
    }
}

/// Tokens of headers.
pub const WORDS: &[&[u8]] = &[
    b"PROXY ",
    b"TCP4 ",
    b"TCP6 ",
    b"UNKNOWN",
    b"\r\n",
    b"\r\n\r\n\0\r\nQUIT\n",
    b"\x21\x11",
    b"\x03\0\x04",
    b"\0\x0c",
];

/// A header of each kind.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = [
        &b"PROXY UNKNOWN\r\n"[..],
        b"PROXY UNKNOWN a b 1 2\r\nGET /",
        b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x17\x7f\0\0\x01\x7f\0\0\x01\0\x50\0\x51\x04\0\x01\0\x03\0\x04abcd",
    ]
    .map(<[u8]>::to_vec)
    .to_vec();
    for (source, destination) in
        [("192.0.2.1:80", "203.0.113.200:65535"), ("[2001:db8::1]:1", "[::]:2")]
    {
        let (Ok(source), Ok(destination)) = (source.parse(), destination.parse()) else { continue };
        for version in
            [wire::proxy_protocol::ProxyVersion::V1, wire::proxy_protocol::ProxyVersion::V2]
        {
            let mut out = Vec::new();
            write_header(version, Some(ProxiedAddresses { source, destination }), &mut out);
            seeds.push(out);
        }
    }
    seeds
}
