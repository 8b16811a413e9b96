//! CRC-32C (Castagnoli; RFC 4960 appendix B), byte by byte: a header is short and occurs once per connection.

/// The remainder of each byte by the reflected polynomial 0x1edc6f41.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let mut rest = at as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 };
            bit += 1;
        }
        table[at] = rest;
        at += 1;
    }
    table
};

/// The checksum over the concatenated parts.
pub(super) fn crc32c(parts: &[&[u8]]) -> u32 {
    let step = |sum: u32, byte: &u8| sum >> 8 ^ TABLE[usize::from(sum as u8 ^ byte)];
    !parts.iter().copied().flatten().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    /// RFC 3720 appendix B.4.
    #[test]
    fn the_published_examples() {
        assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
        assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
        assert_eq!(crc32c(&[&[0xff; 16], &[0xff; 16]]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&[&rising]), 0x46dd_794e);
    }
}
