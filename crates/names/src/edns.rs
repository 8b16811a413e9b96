//! The OPT record of a query with its options (RFC 6891, RFC 7871, RFC 7873).
//!
//! It checks only the form. `responder` uses the subnet, `cookie` verifies the cookie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Option codes of EDNS: client subnet (RFC 7871 §6) and cookie (RFC 7873 §4).
pub const SUBNET: u16 = 8;
pub const COOKIE: u16 = 10;
/// Smaller sizes mean this one (RFC 6891 §6.2.3).
pub const SIZE_MIN: u16 = 512;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdnsOptions {
    /// Bytes that the client accepts over UDP, at least 512.
    pub size: u16,
    /// 0 is the only defined version.
    pub version: u8,
    /// The client understands DNSSEC; copied into the answer (RFC 3225 §3).
    pub dnssec_ok: bool,
    /// The network of a resolver's client.
    pub subnet: Option<EdnsSubnet>,
    pub cookie: Option<DnsCookie>,
}

/// The network of a resolver's client (RFC 7871 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdnsSubnet {
    pub address: IpAddr,
    /// Bits of the network that the resolver discloses.
    pub bits: u8,
}

/// A cookie (RFC 7873 §4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DnsCookie {
    pub client: [u8; 8],
    /// The server cookie, if it has the length of this server's cookies.
    pub server: Option<[u8; 16]>,
}

impl EdnsOptions {
    /// Reads the record's class, time to live and data. `None`: an option is malformed.
    pub fn read(class: u16, ttl: u32, data: &[u8]) -> Option<EdnsOptions> {
        let [_, version, flags, _] = ttl.to_be_bytes();
        let mut edns = EdnsOptions {
            size: class.max(SIZE_MIN),
            version,
            dnssec_ok: flags & 0x80 != 0,
            subnet: None,
            cookie: None,
        };
        // Options of another version may have another meaning.
        if version != 0 {
            return Some(edns);
        }
        let mut rest = data;
        while !rest.is_empty() {
            let (head, after) = rest.split_at_checked(4)?;
            let code = u16::from_be_bytes([head[0], head[1]]);
            let length = u16::from_be_bytes([head[2], head[3]]);
            let (value, after) = after.split_at_checked(usize::from(length))?;
            rest = after;
            match code {
                SUBNET => edns.subnet = Some(EdnsSubnet::read(value)?),
                COOKIE => edns.cookie = Some(DnsCookie::read(value)?),
                _ => {}
            }
        }
        Some(edns)
    }
}

impl EdnsSubnet {
    /// Reads the option's value. A query has scope 0, and no bits beyond its prefix length (RFC 7871 §6, §7.1.2).
    pub fn read(value: &[u8]) -> Option<EdnsSubnet> {
        let (head, address) = value.split_at_checked(4)?;
        let family = u16::from_be_bytes([head[0], head[1]]);
        let bits = head[2];
        let scope = head[3];
        let most = match family {
            1 => 32,
            2 => 128,
            _ => return None,
        };
        let spare = bits.wrapping_neg() & 7;
        let clean = address.last().is_none_or(|last| last.trailing_zeros() >= u32::from(spare));
        let whole = address.len() == usize::from(bits).div_ceil(8);
        if scope != 0 || bits > most || !whole || !clean {
            return None;
        }
        let mut bytes = [0; 16];
        bytes[..address.len()].copy_from_slice(address);
        let address = if family == 1 {
            IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(bytes))
        };
        Some(EdnsSubnet { address, bits })
    }

    /// Appends the option for an answer that is valid for `scope` bits.
    pub fn write(&self, scope: u8, out: &mut Vec<u8>) {
        let length = usize::from(self.bits).div_ceil(8);
        let family: u16 = if self.address.is_ipv4() { 1 } else { 2 };
        out.extend(SUBNET.to_be_bytes());
        out.extend((4 + length as u16).to_be_bytes());
        out.extend(family.to_be_bytes());
        out.extend([self.bits, scope]);
        match self.address {
            // An address has 4 or 16 bytes; more bits than it has would be read past its end.
            IpAddr::V4(v4) => out.extend_from_slice(&v4.octets()[..length.min(4)]),
            IpAddr::V6(v6) => out.extend_from_slice(&v6.octets()[..length.min(16)]),
        }
    }
}

impl DnsCookie {
    /// Reads the option's value: 8 bytes, or 8 and a server cookie of 8 to 32 (RFC 7873 §4).
    fn read(value: &[u8]) -> Option<DnsCookie> {
        let (client, server) = value.split_at_checked(8)?;
        if !(server.is_empty() || (8..=32).contains(&server.len())) {
            return None;
        }
        Some(DnsCookie { client: client.try_into().ok()?, server: server.try_into().ok() })
    }

    /// Appends the option with the server cookie.
    pub fn write(&self, server: [u8; 16], out: &mut Vec<u8>) {
        out.extend(COOKIE.to_be_bytes());
        out.extend(24u16.to_be_bytes());
        out.extend(self.client);
        out.extend(server);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subnets_are_exact() {
        let read =
            |bytes: &[u8]| EdnsSubnet::read(bytes).map(|it| (it.address.to_string(), it.bits));
        assert_eq!(read(&[0, 1, 24, 0, 192, 0, 2]), Some(("192.0.2.0".into(), 24)));
        assert_eq!(
            read(&[0, 2, 33, 0, 0x20, 1, 0xd, 0xb8, 0x80]),
            Some(("2001:db8:8000::".into(), 33))
        );
        assert_eq!(read(&[0, 1, 0, 0]), Some(("0.0.0.0".into(), 0)));
        for wrong in [
            &[0, 1, 24, 0, 192, 0][..],
            &[0, 1, 24, 0, 192, 0, 2, 1],
            &[0, 1, 23, 0, 192, 0, 3],
            &[0, 1, 24, 1, 192, 0, 2],
            &[0, 1, 33, 0, 192, 0, 2, 1, 1],
            &[0, 3, 8, 0, 1],
            &[0, 1],
        ] {
            assert_eq!(read(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn encoding_round_trips() {
        let subnet = EdnsSubnet { address: "192.0.2.128".parse().unwrap(), bits: 25 };
        let mut out = Vec::new();
        subnet.write(0, &mut out);
        assert_eq!(out[..4], [0, 8, 0, 8]);
        assert_eq!(EdnsSubnet::read(&out[4..]), Some(subnet));
        let cookie = DnsCookie { client: [7; 8], server: Some([9; 16]) };
        let mut out = Vec::new();
        cookie.write([9; 16], &mut out);
        let edns = EdnsOptions::read(100, 0x8000, &out).unwrap();
        assert_eq!((edns.cookie, edns.size, edns.dnssec_ok), (Some(cookie), 512, true));
    }

    #[test]
    fn options_of_another_version_are_not_read() {
        assert_eq!(EdnsOptions::read(4096, 1 << 16, &[1]).unwrap().version, 1);
        assert_eq!(EdnsOptions::read(4096, 0, &[1]), None);
        assert_eq!(EdnsOptions::read(4096, 0, &[0, 10, 0, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1]), None);
        assert!(EdnsOptions::read(4096, 0, &[0, 99, 0, 1, 1]).unwrap().cookie.is_none());
    }
}
