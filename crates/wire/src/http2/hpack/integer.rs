//! Integers and strings of a block, read and written (RFC 7541 §5).

use super::hpack_error::HpackError;
use crate::huffman;
use crate::prefix_integer::{self, IntegerError};

/// The rest of a block that is being decoded.
pub(super) struct BlockCursor<'b> {
    pub(super) rest: &'b [u8],
}

impl<'b> BlockCursor<'b> {
    /// Decodes an integer with a prefix of `bits` bits.
    pub(super) fn integer(&mut self, bits: u32) -> Result<usize, HpackError> {
        prefix_integer::decode(&mut self.rest, bits).map_err(|error| match error {
            IntegerError::Truncated => HpackError::Truncated,
            IntegerError::TooLarge => HpackError::IntegerTooLarge,
        })
    }

    /// Appends a string literal.
    pub(super) fn string(&mut self, out: &mut Vec<u8>) -> Result<(), HpackError> {
        let coded = self.rest.first().is_some_and(|first| first & 0x80 != 0);
        let length = self.integer(7)?;
        let Some(parts) = self.rest.split_at_checked(length) else {
            return Err(HpackError::Truncated);
        };
        self.rest = parts.1;
        if !coded {
            out.extend_from_slice(parts.0);
            return Ok(());
        }
        huffman::decode(parts.0, usize::MAX, out).ok_or(HpackError::Huffman)
    }
}

/// Appends a string literal, in the Huffman code where that is shorter.
pub(super) fn append_string(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_length(text);
    if coded < text.len() {
        prefix_integer::append(0x80, 7, coded, out);
        huffman::encode(text, out);
    } else {
        prefix_integer::append(0, 7, text.len(), out);
        out.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_the_rfc_are_written_and_read() {
        // RFC 7541 Appendix C.1.
        let rows: [(u32, usize, &[u8]); 4] = [
            (5, 10, &[0x0a]),
            (5, 1337, &[0x1f, 0x9a, 0x0a]),
            (8, 42, &[0x2a]),
            (7, 127, &[0x7f, 0x00]),
        ];
        for (bits, value, bytes) in rows {
            let mut out = Vec::new();
            prefix_integer::append(0, bits, value, &mut out);
            assert_eq!(out, bytes);
            let mut cursor = BlockCursor { rest: bytes };
            assert_eq!(cursor.integer(bits), Ok(value));
            assert!(cursor.rest.is_empty());
        }
    }

    #[test]
    fn integers_have_a_limit() {
        let integer = |bytes: &[u8]| BlockCursor { rest: bytes }.integer(5);
        assert_eq!(integer(&[0x1f, 0xff, 0xff, 0xff, 0x7f]), Ok((1 << 28) - 1 + 31));
        assert_eq!(
            integer(&[0x1f, 0x80, 0x80, 0x80, 0x80, 0x00]),
            Err(HpackError::IntegerTooLarge)
        );
        assert_eq!(integer(&[0x1f, 0x80]), Err(HpackError::Truncated));
        assert_eq!(integer(&[]), Err(HpackError::Truncated));
    }
}
