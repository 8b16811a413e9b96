//! Variable-length integers of QUIC (RFC 9000 §16): the first two bits hold the length.

/// A decoded integer, and the number of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct VarintValue {
    pub(super) value: u64,
    pub(super) length: usize,
}

/// The integer at the start of `bytes`; `None`: the integer is incomplete.
pub(super) fn read(bytes: &[u8]) -> Option<VarintValue> {
    let first = *bytes.first()?;
    let length = 1usize << (first >> 6);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |sum, &byte| sum << 8 | u64::from(byte));
    Some(VarintValue { value, length })
}

/// Appends an integer below 2^62 in the shortest form.
pub(super) fn write(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for value in [0, 1, 63, 64, 16_383, 16_384, (1 << 30) - 1, 1 << 30, (1 << 62) - 1] {
            let mut bytes = Vec::new();
            write(value, &mut bytes);
            assert_eq!(read(&bytes), Some(VarintValue { value, length: bytes.len() }));
            assert_eq!(read(&bytes[..bytes.len() - 1]), None);
        }
        let example = VarintValue { value: 15_293, length: 2 };
        assert_eq!(read(&[0x7b, 0xbd]), Some(example), "an example of the RFC");
    }
}
