//! VRRP's one message, the advertisement: bytes to values and back, versions 3 (RFC 9568 §5.2) and 2 (RFC 3768 §5.3).
//!
//! Each defect of a packet has a name, which the caller counts. The parser does not know which groups are configured.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::checksum;
use crate::defect::defects;

/// VRRP's number among the protocols above IP.
/// IANA's registry of protocol numbers.
pub const PROTOCOL: u8 = 112;
/// Where advertisements go, IPv4.
pub const GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
/// Where advertisements go, IPv6.
pub const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
/// Every advertisement to the group arrives with this hop limit: a router would have lowered it (RFC 9568 §5.1.1.3,
/// §5.1.2.3).
pub const HOPS: u8 = 255;
/// The priority of a member that resigns (RFC 9568 §5.2.4).
pub const RESIGNED: u8 = 0;
/// The priority of the address owner (RFC 9568 §5.2.4).
pub const OWNER: u8 = 255;

/// Bytes before the addresses.
/// RFC 3768 §5.1 and RFC 9568 §5.1.
const HEAD: usize = 8;
/// Bytes of authentication data behind the addresses in version 2.
/// RFC 3768 §5.3.10.
const SECRET: usize = 8;
/// Type 1: an advertisement; there is no other.
const ADVERTISEMENT: u8 = 1;
/// The widest interval on the wire, in hundredths of a second: the field has twelve bits.
const WIDEST: u16 = 0x0fff;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VrrpVersion {
    /// RFC 3768: IPv4 alone, whole seconds.
    V2,
    /// RFC 9568: both families, hundredths of a second.
    V3,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VrrpAdvertisement {
    pub version: VrrpVersion,
    /// The virtual router's number, 1–255.
    pub group: u8,
    /// 0: resigns; 255: owns the address.
    pub priority: u8,
    /// Time between two advertisements.
    pub interval: Duration,
    /// The shared addresses, all of one family.
    pub addresses: Vec<IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeader {
    pub source: IpAddr,
    pub destination: IpAddr,
    /// The packet's hop limit or time to live.
    pub hops: u8,
}

impl IpHeader {
    /// Whether the packet came from this link, as far as its source shows.
    pub fn is_link_local(&self) -> bool {
        self.hops == HOPS
    }
}

defects! {
    pub enum AdvertisementDefect;
    /// The packet passed a router, or pretends to come from this link.
    Hops = "hop-limit",
    /// Fewer bytes than the head has.
    Short = "too-short",
    /// Neither 2 nor 3, or 2 over IPv6.
    Version = "version",
    Kind = "type",
    /// Group number 0 is reserved.
    Group = "group-zero",
    /// The checksum does not match the bytes.
    Checksum = "checksum",
    /// A clear-text password (RFC 2338 type 1), which proves nothing.
    Password = "authentication-password",
    /// An authentication header's digest (RFC 2338 type 2).
    Digest = "authentication-header",
    /// An authentication type that no RFC defines.
    Authentication = "authentication-unknown",
    /// The number of addresses and the length disagree, or there is no address.
    Length = "length",
    /// An interval of nothing.
    Interval = "interval-zero",
}

impl fmt::Display for VrrpVersion {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            VrrpVersion::V2 => "2",
            VrrpVersion::V3 => "3",
        })
    }
}

/// Reads what follows the IP header. Bytes behind a version 3 message are not part of it and are rejected.
///
/// No RFC describes unicast advertisements. They may have passed routers, and some senders give them an ordinary hop
/// limit. The group's configuration decides whether they are accepted.
///
/// # Errors
/// The first defect in the order of RFC 9568 §7.1.
pub fn parse(bytes: &[u8], envelope: &IpHeader) -> Result<VrrpAdvertisement, AdvertisementDefect> {
    if envelope.destination.is_multicast() && !envelope.is_link_local() {
        return Err(AdvertisementDefect::Hops);
    }
    let head = bytes.first_chunk::<HEAD>().ok_or(AdvertisementDefect::Short)?;
    let [kind, group, priority, count, high, low, _, _] = *head;
    let v6 = envelope.source.is_ipv6();
    let version = match kind >> 4 {
        3 => VrrpVersion::V3,
        2 if !v6 => VrrpVersion::V2,
        _ => return Err(AdvertisementDefect::Version),
    };
    if kind & 0x0f != ADVERTISEMENT {
        return Err(AdvertisementDefect::Kind);
    }
    let each = if v6 { 16 } else { 4 };
    let tail = if version == VrrpVersion::V2 { SECRET } else { 0 };
    let length = HEAD + usize::from(count) * each + tail;
    if count == 0 || bytes.len() < length || (version == VrrpVersion::V3 && bytes.len() > length) {
        return Err(AdvertisementDefect::Length);
    }
    let bytes = &bytes[..length];
    if !has_valid_checksum(bytes, version, envelope) {
        return Err(AdvertisementDefect::Checksum);
    }
    if group == 0 {
        return Err(AdvertisementDefect::Group);
    }
    let interval = match version {
        VrrpVersion::V2 => {
            check_authentication(high)?;
            Duration::from_secs(u64::from(low))
        }
        VrrpVersion::V3 => {
            Duration::from_millis(10 * u64::from(u16::from_be_bytes([high, low]) & WIDEST))
        }
    };
    if interval.is_zero() {
        return Err(AdvertisementDefect::Interval);
    }
    let addresses = bytes[HEAD..length - tail].chunks_exact(each).filter_map(address).collect();
    Ok(VrrpAdvertisement { version, group, priority, interval, addresses })
}

/// The checksum of version 3 covers a pseudo header. Some IPv4 senders leave it out; their packets are accepted too.
fn has_valid_checksum(bytes: &[u8], version: VrrpVersion, envelope: &IpHeader) -> bool {
    let plain = || checksum::checksum(bytes) == 0;
    let pseudo = || {
        checksum::checksum_with_pseudo_header(
            bytes,
            envelope.source,
            envelope.destination,
            PROTOCOL,
        ) == 0
    };
    match version {
        VrrpVersion::V2 => plain(),
        VrrpVersion::V3 => pseudo() || (envelope.source.is_ipv4() && plain()),
    }
}

fn check_authentication(kind: u8) -> Result<(), AdvertisementDefect> {
    match kind {
        0 => Ok(()),
        1 => Err(AdvertisementDefect::Password),
        2 => Err(AdvertisementDefect::Digest),
        _ => Err(AdvertisementDefect::Authentication),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(bytes).map(IpAddr::from).ok();
    v4.or_else(|| <[u8; 16]>::try_from(bytes).map(IpAddr::from).ok())
}

/// Builds what follows the IP header for a packet between these addresses. At most 255 addresses are written.
pub fn emit(advert: &VrrpAdvertisement, source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let count = u8::try_from(advert.addresses.len()).unwrap_or(u8::MAX);
    let (kind, interval) = match advert.version {
        VrrpVersion::V2 => {
            // The interval field of version 2 is one byte of seconds (RFC 3768 §5.3.7).
            let seconds = advert.interval.as_secs().clamp(1, 255);
            (2 << 4 | ADVERTISEMENT, u16::try_from(seconds).unwrap_or(1))
        }
        VrrpVersion::V3 => {
            let hundredths = advert.interval.as_millis() / 10;
            let hundredths = u16::try_from(hundredths).unwrap_or(WIDEST).clamp(1, WIDEST);
            (3 << 4 | ADVERTISEMENT, hundredths)
        }
    };
    let mut out = vec![kind, advert.group, advert.priority, count];
    out.extend(interval.to_be_bytes());
    out.extend([0, 0]);
    for ip in advert.addresses.iter().take(usize::from(count)) {
        match ip {
            IpAddr::V4(v4) => out.extend(v4.octets()),
            IpAddr::V6(v6) => out.extend(v6.octets()),
        }
    }
    let sum = match advert.version {
        VrrpVersion::V2 => {
            out.extend([0; SECRET]);
            checksum::checksum(&out)
        }
        VrrpVersion::V3 => {
            checksum::checksum_with_pseudo_header(&out, source, destination, PROTOCOL)
        }
    };
    out[6..8].copy_from_slice(&sum.to_be_bytes());
    out
}

#[cfg(test)]
mod tests;
