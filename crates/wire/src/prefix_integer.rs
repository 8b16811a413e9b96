//! Integers with a prefix of some bits in their first byte, as HPACK and QPACK write them (RFC 7541 §5.1).

/// Most bytes after the prefix of an integer. No value that is allowed here exceeds 2^28.
const MAX_MORE: u32 = 4;

/// Why bytes are no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerError {
    Truncated,
    TooLarge,
}

/// Takes an integer with a prefix of `bits` bits off the bytes, which stay as they are where there is none.
pub(crate) fn decode(bytes: &mut &[u8], bits: u32) -> Result<usize, IntegerError> {
    let mut rest = *bytes;
    let full = (1_usize << bits) - 1;
    let mut value = usize::from(first_byte(&mut rest)?) & full;
    if value < full {
        *bytes = rest;
        return Ok(value);
    }
    for more in 0..MAX_MORE {
        let byte = first_byte(&mut rest)?;
        value += usize::from(byte & 0x7f) << (7 * more);
        if byte & 0x80 == 0 {
            *bytes = rest;
            return Ok(value);
        }
    }
    Err(IntegerError::TooLarge)
}

fn first_byte(bytes: &mut &[u8]) -> Result<u8, IntegerError> {
    let (first, rest) = bytes.split_first().ok_or(IntegerError::Truncated)?;
    *bytes = rest;
    Ok(*first)
}

/// Appends an integer with a prefix of `bits` bits below `mark`.
pub(crate) fn append(mark: u8, bits: u32, mut value: usize, out: &mut Vec<u8>) {
    let full = (1_usize << bits) - 1;
    if value < full {
        return out.push(mark | value as u8);
    }
    out.push(mark | full as u8);
    value -= full;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
