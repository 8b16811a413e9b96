//! Encodes and decodes QPACK field sections (RFC 9204) without a dynamic table: each section stands alone.
//!
//! The balancer allows no dynamic table, so a section that refers to one is an error. Fields are not interpreted.

mod fixed;

use super::error::{Http3Error, code};
use crate::field_section::{FieldSection, PER_FIELD};
use crate::huffman;
use crate::prefix_integer;

const BROKEN: Http3Error = Http3Error::Connection(code::QPACK_DECOMPRESSION_FAILED);

/// Decodes a section with a size limit of `most` bytes; each field counts 32 bytes more than its text.
///
/// # Errors
/// The section is invalid or too large.
pub fn decode(block: &[u8], most: usize) -> Result<FieldSection, Http3Error> {
    let mut rest = block;
    // The required insert count must be 0 (RFC 9204 §4.5.1); the base has no effect then.
    if integer(&mut rest, 8)? != 0 {
        return Err(BROKEN);
    }
    integer(&mut rest, 7)?;
    let mut fields = FieldSection::default();
    let mut size = 0usize;
    while let Some(&first) = rest.first() {
        let begin = fields.text.len();
        let left = most.saturating_sub(size);
        let name = if first & 0xc0 == 0xc0 {
            let (name, value) = static_table_entry(integer(&mut rest, 6)?)?;
            fields.text.extend_from_slice(name);
            fields.text.extend_from_slice(value);
            begin + name.len()
        } else {
            if first & 0xf0 == 0x50 {
                fields.text.extend_from_slice(static_table_entry(integer(&mut rest, 4)?)?.0);
            } else if first & 0xe0 == 0x20 {
                string(&mut rest, 3, left, &mut fields.text)?;
            } else {
                return Err(BROKEN);
            }
            let name = fields.text.len();
            string(&mut rest, 7, left, &mut fields.text)?;
            name
        };
        size = size.saturating_add(fields.text.len() - begin + PER_FIELD);
        if size > most {
            return Err(Http3Error::TooLarge);
        }
        fields.end_field(name);
    }
    Ok(fields)
}

fn static_table_entry(index: usize) -> Result<(&'static [u8], &'static [u8]), Http3Error> {
    let field = fixed::FIELDS.get(index);
    field.map(|(name, value)| (name.as_bytes(), value.as_bytes())).ok_or(BROKEN)
}

/// Decodes an integer with a prefix of `bits` bits.
fn integer(bytes: &mut &[u8], bits: u32) -> Result<usize, Http3Error> {
    prefix_integer::decode(bytes, bits).map_err(|_| BROKEN)
}

/// Appends a string whose length has a prefix of `bits` bits. The bit above the prefix is the Huffman flag.
fn string(bytes: &mut &[u8], bits: u32, most: usize, out: &mut Vec<u8>) -> Result<(), Http3Error> {
    let coded = bytes.first().is_some_and(|first| first >> bits & 1 == 1);
    let length = integer(bytes, bits)?;
    let (text, rest) = bytes.split_at_checked(length).ok_or(BROKEN)?;
    *bytes = rest;
    if !coded {
        if text.len() > most {
            return Err(Http3Error::TooLarge);
        }
        out.extend_from_slice(text);
        return Ok(());
    }
    // The longest Huffman code has 30 bits, so this is a lower bound of the decoded length.
    if text.len() * 8 / 30 > most {
        return Err(Http3Error::TooLarge);
    }
    let before = out.len();
    match huffman::decode(text, most, out) {
        Some(()) => Ok(()),
        None if out.len() - before == most => Err(Http3Error::TooLarge),
        None => Err(BROKEN),
    }
}

/// Starts a section that refers to no dynamic table.
pub(super) fn begin_field_section(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field; `name` is in lower case.
pub(super) fn append_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    match fixed::find(name, value) {
        Some(known) if known.has_value => prefix_integer::append(0xc0, 6, known.index, out),
        Some(known) => {
            prefix_integer::append(0x50, 4, known.index, out);
            text(0, 7, value, out);
        }
        None => {
            text(0x20, 3, name, out);
            text(0, 7, value, out);
        }
    }
}

fn text(mark: u8, bits: u32, text: &[u8], out: &mut Vec<u8>) {
    prefix_integer::append(mark, bits, text.len(), out);
    out.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode_fields(block: &[u8], most: usize) -> Result<Vec<(String, String)>, Http3Error> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let fields = decode(block, most)?;
        Ok(fields.iter().map(|(name, value)| (text(name), text(value))).collect())
    }

    #[test]
    fn fields_come_back() {
        let long = "x".repeat(5_000);
        let fields = [
            (":status", "200"),
            (":status", "418"),
            ("content-type", "text/html; charset=utf-8"),
            ("content-type", "text/x"),
            ("x-own", ""),
            ("x-long", &long),
            ("a-name-that-is-longer-than-seven", "value"),
        ];
        let mut block = Vec::new();
        begin_field_section(&mut block);
        fields.iter().for_each(|(name, value)| {
            append_field(name.as_bytes(), value.as_bytes(), &mut block);
        });
        let wanted: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(decode_fields(&block, 10_000), Ok(wanted));
        assert_eq!(decode_fields(&block, 5_000), Err(Http3Error::TooLarge));
        for cut in 2..block.len() {
            let _ = decode_fields(&block[..cut], 10_000);
        }
    }

    #[test]
    fn a_block_of_the_rfc_is_read() {
        // RFC 9204 Appendix B.1.
        let block = *b"\x00\x00\x51\x0b/index.html";
        let wanted = (":path".to_owned(), "/index.html".to_owned());
        assert_eq!(decode_fields(&block, 100), Ok(vec![wanted]));
    }

    #[test]
    fn what_refers_to_a_table_or_is_cut_is_broken() {
        let rows: [&[u8]; 11] = [
            b"",
            b"\x00",
            b"\x01\x00",
            b"\x00\x00\x80",
            b"\x00\x00\x10",
            b"\x00\x00\x00",
            b"\x00\x00\x40\x01x",
            b"\x00\x00\xff\x24",
            b"\x00\x00\xff\xff\xff\xff\xff\xff\x7f",
            b"\x00\x00\x51\x0b/index",
            b"\x00\x00\x51\x81\x00",
        ];
        for block in rows {
            assert_eq!(decode_fields(block, 100), Err(BROKEN), "{block:?}");
        }
        let bomb = [&b"\x00\x00"[..], &[0xd1; 200]].concat();
        assert_eq!(
            decode_fields(&bomb, 1_000),
            Err(Http3Error::TooLarge),
            "small on the way, large here"
        );
    }
}
