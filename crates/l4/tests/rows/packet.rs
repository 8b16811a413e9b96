//! Builds packets, and checks their checksums with an independent reference. It does not use the datapath.

use std::net::IpAddr;

pub const TCP: u8 = 6;
pub const UDP: u8 = 17;
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;
pub const URG: u8 = 32;

/// The link addresses of the sender and of us.
pub const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 9];
pub const OURS: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// A packet to build.
#[derive(Clone, Debug)]
pub struct TestPacket {
    pub to: [u8; 6],
    pub from: [u8; 6],
    pub tags: Vec<(u16, u16)>,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub ttl: u8,
    pub tos: u8,
    pub keep_whole: bool,
    pub id: u16,
    /// Fragment offset in bytes and whether more follow.
    pub fragment: Option<(u16, bool)>,
    /// IPv4 options, or IPv6 extension headers as (kind, bytes).
    pub options: Vec<u8>,
    pub extensions: Vec<(u8, Vec<u8>)>,
    pub proto: u8,
    pub sport: u16,
    pub dport: u16,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub tcp_options: Vec<u8>,
    /// The four bits behind the length of the header.
    pub reserved: u8,
    /// The urgent pointer.
    pub urgent: u16,
    /// No UDP checksum (IPv4).
    pub unsummed: bool,
    pub payload: Vec<u8>,
}

/// A TCP packet between `address:port` pairs.
pub fn tcp(src: &str, dst: &str, flags: u8) -> TestPacket {
    let src = pair(src);
    let dst = pair(dst);
    TestPacket {
        to: OURS,
        from: THEIRS,
        tags: Vec::new(),
        src: src.0,
        dst: dst.0,
        ttl: 64,
        tos: 0,
        keep_whole: true,
        id: 7,
        fragment: None,
        options: Vec::new(),
        extensions: Vec::new(),
        proto: TCP,
        sport: src.1,
        dport: dst.1,
        flags,
        seq: 1000,
        ack: 2000,
        window: 0x2000,
        tcp_options: Vec::new(),
        reserved: 0,
        urgent: 0,
        unsummed: false,
        payload: b"hello".to_vec(),
    }
}

/// A UDP packet between `address:port` pairs.
pub fn udp(src: &str, dst: &str) -> TestPacket {
    TestPacket { proto: UDP, ..tcp(src, dst, 0) }
}

fn pair(text: &str) -> (IpAddr, u16) {
    let address: std::net::SocketAddr = text.parse().unwrap();
    (address.ip(), address.port())
}

impl TestPacket {
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = [&self.to[..], &self.from[..]].concat();
        for (kind, tag) in &self.tags {
            out.extend(kind.to_be_bytes());
            out.extend(tag.to_be_bytes());
        }
        out.extend(if self.src.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xdd] });
        out.extend(self.ip());
        out
    }

    /// From the IP header on.
    pub fn ip(&self) -> Vec<u8> {
        let payload = self.transport();
        match (self.src, self.dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => {
                let header = 20 + self.options.len();
                let mut ip = vec![0x40 | (header / 4) as u8, self.tos];
                ip.extend(((header + payload.len()) as u16).to_be_bytes());
                ip.extend(self.id.to_be_bytes());
                let (offset, more) = self.fragment.unwrap_or((0, false));
                let flags = u16::from(self.keep_whole) << 14 | u16::from(more) << 13;
                ip.extend((flags | (offset / 8)).to_be_bytes());
                ip.extend([self.ttl, self.proto, 0, 0]);
                ip.extend(src.octets());
                ip.extend(dst.octets());
                ip.extend(&self.options);
                let sum = checksum(&[&ip]);
                ip[10..12].copy_from_slice(&sum.to_be_bytes());
                [ip, payload].concat()
            }
            (IpAddr::V6(src), IpAddr::V6(dst)) => {
                let (first, chain) = self.chain();
                let class = u32::from(self.tos) << 20;
                let mut ip = (6 << 28 | class | 0x12345).to_be_bytes().to_vec();
                ip.extend(((chain.len() + payload.len()) as u16).to_be_bytes());
                ip.extend([first, self.ttl]);
                ip.extend(src.octets());
                ip.extend(dst.octets());
                [ip, chain, payload].concat()
            }
            _ => panic!("families differ"),
        }
    }

    /// The kind of the first extension header, and all of them.
    fn chain(&self) -> (u8, Vec<u8>) {
        let mut all = self.extensions.clone();
        if let Some((offset, more)) = self.fragment {
            let mut header = vec![0, 0];
            header.extend((offset | u16::from(more)).to_be_bytes());
            header.extend(u32::from(self.id).to_be_bytes());
            all.push((44, header));
        }
        let mut out = Vec::new();
        for at in 0..all.len() {
            let mut header = all[at].1.clone();
            header[0] = all.get(at + 1).map_or(self.proto, |next| next.0);
            out.extend(header);
        }
        (all.first().map_or(self.proto, |first| first.0), out)
    }

    pub fn transport(&self) -> Vec<u8> {
        if self.fragment.is_some_and(|(offset, _)| offset > 0) {
            return self.payload.clone();
        }
        let mut out = [self.sport.to_be_bytes(), self.dport.to_be_bytes()].concat();
        let at = match self.proto {
            TCP => {
                out.extend(self.seq.to_be_bytes());
                out.extend(self.ack.to_be_bytes());
                let words = 5 + self.tcp_options.len() / 4;
                out.extend([(words << 4) as u8 | self.reserved, self.flags]);
                out.extend(self.window.to_be_bytes());
                out.extend([0; 2]);
                out.extend(self.urgent.to_be_bytes());
                out.extend(&self.tcp_options);
                16
            }
            UDP => {
                out.extend(((8 + self.payload.len()) as u16).to_be_bytes());
                out.extend([0, 0]);
                6
            }
            _ => return self.payload.clone(),
        };
        out.extend(&self.payload);
        if !self.unsummed {
            let sum = checksum(&[&pseudo(self.src, self.dst, self.proto, out.len()), &out]);
            let sum = if sum == 0 && self.proto == UDP { 0xffff } else { sum };
            out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        }
        out
    }
}

/// The pseudo header (RFC 9293 §3.1, RFC 8200 §8.1).
pub fn pseudo(src: IpAddr, dst: IpAddr, proto: u8, length: usize) -> Vec<u8> {
    match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut out = [src.octets(), dst.octets()].concat();
            out.extend([0, proto]);
            out.extend((length as u16).to_be_bytes());
            out
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut out = [src.octets(), dst.octets()].concat();
            out.extend((length as u32).to_be_bytes());
            out.extend([0, 0, 0, proto]);
            out
        }
        _ => panic!("families differ"),
    }
}

/// The Internet checksum (RFC 1071) of consecutive pieces; only the last may have an odd length.
pub fn checksum(pieces: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for piece in pieces {
        for pair in piece.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A parsed packet; parsing panics on a wrong checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedPacket {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub ttl: u8,
    pub tos: u8,
    pub proto: u8,
    pub sport: u16,
    pub dport: u16,
    /// From the transport header on.
    pub transport: Vec<u8>,
}

/// Reads an IP packet and verifies its checksums.
pub fn read_ip(ip: &[u8]) -> ReceivedPacket {
    let (src, dst, proto, mut transport, ttl, tos): (IpAddr, IpAddr, u8, Vec<u8>, u8, u8);
    if ip[0] >> 4 == 4 {
        let header = usize::from(ip[0] & 15) * 4;
        assert_eq!(checksum(&[&ip[..header]]), 0, "IPv4 checksum");
        let total = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let address = |at: usize| <[u8; 4]>::try_from(&ip[at..at + 4]).unwrap().into();
        src = address(12);
        dst = address(16);
        proto = ip[9];
        ttl = ip[8];
        tos = ip[1];
        transport = ip[header..total].to_vec();
    } else {
        let address = |at: usize| <[u8; 16]>::try_from(&ip[at..at + 16]).unwrap().into();
        src = address(8);
        dst = address(24);
        proto = ip[6];
        ttl = ip[7];
        tos = ip[0] << 4 | ip[1] >> 4;
        let total = usize::from(u16::from_be_bytes([ip[4], ip[5]]));
        transport = ip[40..40 + total].to_vec();
    }
    let mut sport = 0;
    let mut dport = 0;
    if proto == TCP || proto == UDP {
        sport = u16::from_be_bytes([transport[0], transport[1]]);
        dport = u16::from_be_bytes([transport[2], transport[3]]);
        if proto == TCP || transport[6..8] != [0, 0] {
            let sum = checksum(&[&pseudo(src, dst, proto, transport.len()), &transport]);
            assert_eq!(sum, 0, "transport checksum");
        }
    } else {
        transport.truncate(ip.len());
    }
    ReceivedPacket { src, dst, ttl, tos, proto, sport, dport, transport }
}
