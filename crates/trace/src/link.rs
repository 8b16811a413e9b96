//! Peels link layers and tunnels off a frame until TCP is found.
//!
//! VLAN tags, PPPoE sessions, tunnels and their keys are folded into one number that is the same in both directions, so
//! that equal addresses on different paths stay apart. MPLS labels differ by direction and are passed over. Fragments
//! other than a first one have no TCP header and are counted.

mod ip;
mod layer;
mod tags;

use crate::bytes::{u16_at, u32_at};
use crate::input::Frame;
use crate::packet::Carried;
use ip::Inside;
use layer::Layer;
use tags::Path;

pub use layer::Other;

/// Layers that are peeled before giving up: tags, labels and tunnels together.
const MAX_LAYERS: usize = 24;

/// The TCP packet in a frame.
#[inline]
pub fn find<'a>(frame: &Frame<'a>) -> Result<Carried<'a>, Other> {
    let (mut layer, skip) = first(frame)?;
    let mut bytes = frame.bytes.get(skip..).ok_or(Other::Broken)?;
    // What is left of the packet on the wire; only used where IP does not say.
    let mut wire = (frame.original_len as usize).max(frame.bytes.len()).saturating_sub(skip);
    let mut path = Path::default();
    for _ in 0..MAX_LAYERS {
        let skip;
        (layer, skip) = match layer {
            Layer::Ethernet => (Layer::Type(u16_at(bytes, 12, true)), 14),
            Layer::Type(number) => typed(number, bytes, &mut path)?,
            Layer::Gre => gre(bytes, &mut path)?,
            Layer::Ip => match ip::read(bytes, wire, &mut path)? {
                Inside::Tcp(carried) => return Ok(carried),
                Inside::Tunnel(layer, skip) => (layer, skip),
            },
        };
        bytes = bytes.get(skip..).ok_or(Other::Broken)?;
        wire = wire.saturating_sub(skip);
    }
    Err(Other::TooDeep)
}

/// What a frame begins with, and how many bytes of link header come before it.
#[inline]
fn first(frame: &Frame<'_>) -> Result<(Layer, usize), Other> {
    let bytes = frame.bytes;
    Ok(match frame.link {
        1 => (Layer::Ethernet, 0),
        // Raw IP, under its several numbers.
        12 | 14 | 101 | 228 | 229 => (Layer::Ip, 0),
        // Loopback: four bytes that say which family, in the byte order of some machine.
        0 | 108 => (Layer::Ip, 4),
        113 => (Layer::Type(u16_at(bytes, 14, true)), 16),
        276 => (Layer::Type(u16_at(bytes, 0, true)), 20),
        other => return Err(Other::Link(other)),
    })
}

/// The layer behind the type of an Ethernet frame.
fn typed(number: u16, bytes: &[u8], path: &mut Path) -> Result<(Layer, usize), Other> {
    match number {
        0x0800 | 0x86dd => Ok((Layer::Ip, 0)),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            path.add(tags::VLAN, u64::from(u16_at(bytes, 0, true) & 0x0fff));
            Ok((Layer::Type(u16_at(bytes, 2, true)), 4))
        }
        // PPPoE session (RFC 2516): version, code 0, session, length; then the PPP protocol.
        0x8864 => {
            path.add(tags::PPPOE, u64::from(u16_at(bytes, 2, true)));
            match u16_at(bytes, 6, true) {
                0x0021 | 0x0057 => Ok((Layer::Ip, 8)),
                _ => Err(Other::NotIp),
            }
        }
        0x8847 | 0x8848 => labels(bytes),
        // Ethernet bridged in GRE.
        0x6558 => Ok((Layer::Ethernet, 0)),
        _ => Err(Other::NotIp),
    }
}

/// A stack of MPLS labels (RFC 3032): what follows it is told by its first half-byte.
fn labels(bytes: &[u8]) -> Result<(Layer, usize), Other> {
    let bottom = bytes.chunks_exact(4).take(MAX_LAYERS).position(|label| label[2] & 1 == 1);
    let skip = bottom.ok_or(Other::Broken)? * 4 + 4;
    match bytes.get(skip).map(|byte| byte >> 4) {
        Some(4 | 6) => Ok((Layer::Ip, skip)),
        // A control word (RFC 4385) before a bridged frame.
        Some(0) => Ok((Layer::Ethernet, skip + 4)),
        _ => Err(Other::NotIp),
    }
}

/// GRE (RFC 2784, RFC 2890), without source routes.
fn gre(bytes: &[u8], path: &mut Path) -> Result<(Layer, usize), Other> {
    let flags = u16_at(bytes, 0, true);
    if bytes.len() < 4 || flags & 0x4007 != 0 {
        return Err(if bytes.len() < 4 { Other::Broken } else { Other::NotTcp });
    }
    let mut skip = 4;
    if flags & 0x8000 != 0 {
        skip += 4;
    }
    if flags & 0x2000 != 0 {
        path.add(tags::GRE_KEY, u64::from(u32_at(bytes, skip, true)));
        skip += 4;
    }
    if flags & 0x1000 != 0 {
        skip += 4;
    }
    Ok((Layer::Type(u16_at(bytes, 2, true)), skip))
}

#[cfg(test)]
mod tests;
