//! Reads numbers from bytes. Outside of the bytes everything is zero for numbers of one of two orders: callers that care
//! check the length first. Those of this machine's order, and of the network's, are `None` there.

/// Little-endian number of four bytes, or big-endian.
#[inline]
pub fn u32_at(bytes: &[u8], at: usize, big: bool) -> u32 {
    let Some(Ok(four)) = bytes.get(at..at + 4).map(<[u8; 4]>::try_from) else { return 0 };
    if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
}

/// Little-endian number of two bytes, or big-endian.
#[inline]
pub fn u16_at(bytes: &[u8], at: usize, big: bool) -> u16 {
    let Some(Ok(two)) = bytes.get(at..at + 2).map(<[u8; 2]>::try_from) else { return 0 };
    if big { u16::from_be_bytes(two) } else { u16::from_le_bytes(two) }
}

/// Number of four bytes in this machine's order.
#[inline]
pub fn ne_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*four))
}

/// Number of two bytes in this machine's order.
#[inline]
pub fn ne_u16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*two))
}

/// Number of two bytes in the network's order.
#[inline]
pub fn be_u16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*two))
}
