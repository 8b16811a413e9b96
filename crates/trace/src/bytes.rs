//! Reads numbers from bytes. Outside of the bytes everything is zero: callers that care check the length first.

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
