//! Decodes the Huffman code of header compression (RFC 7541 Appendix B), which QPACK shares.
//!
//! The code is canonical: shorter codes come first, and codes of the same length increase with their symbols. So the
//! lengths alone define the code. There is no encoder: heads are sent as plain text.

/// Code length in bits of each byte value and of the end-of-string symbol.
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/// Bits of the longest code in the table above (RFC 7541 appendix B).
const LONGEST: usize = 30;

/// The end-of-string symbol, which may not be sent.
const END: u16 = 256;

/// For each code length: the first code, the number of codes, and the index of their first symbol in `symbols`.
struct HuffmanCode {
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    begin: [u32; LONGEST + 1],
    symbols: [u16; 257],
}

const fn code() -> HuffmanCode {
    let mut code = HuffmanCode {
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        begin: [0; LONGEST + 1],
        symbols: [0; 257],
    };
    let mut length = 1;
    let mut next = 0;
    let mut at = 0;
    while length <= LONGEST {
        next <<= 1;
        code.first[length] = next;
        code.begin[length] = at;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                code.symbols[at as usize] = symbol as u16;
                at += 1;
                next += 1;
            }
            symbol += 1;
        }
        code.count[length] = at - code.begin[length];
        length += 1;
    }
    code
}

static CODE: HuffmanCode = code();

/// Appends the decoded text. `None`: the code is invalid, or the text is longer than `most` bytes.
pub(super) fn decode(coded: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let before = out.len();
    let mut bits = 0u32;
    let mut length = 0usize;
    for byte in coded {
        for at in (0..8).rev() {
            bits = bits << 1 | u32::from(byte >> at & 1);
            length += 1;
            if length > LONGEST {
                return None;
            }
            let past = bits.wrapping_sub(CODE.first[length]);
            if bits < CODE.first[length] || past >= CODE.count[length] {
                continue;
            }
            let symbol = CODE.symbols[(CODE.begin[length] + past) as usize];
            if symbol == END || out.len() - before == most {
                return None;
            }
            out.push(symbol as u8);
            bits = 0;
            length = 0;
        }
    }
    // The padding: the start of the end-of-string code, which is all ones, with fewer than eight bits (RFC 7541 §5.2).
    (length < 8 && bits == (1 << length) - 1).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(coded: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(coded, 100, &mut out).map(|()| out)
    }

    #[test]
    fn strings_of_the_rfc_are_read() {
        let name = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
        assert_eq!(text(&name).as_deref(), Some(&b"www.example.com"[..]));
        assert_eq!(text(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]).as_deref(), Some(&b"no-cache"[..]));
        assert_eq!(text(&[]).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn what_is_no_code_is_refused() {
        assert_eq!(text(&[0xff; 4]), None, "the end");
        assert_eq!(text(&[0x1f, 0xff]), None, "a byte of padding and more");
        assert_eq!(text(&[0x00]), None, "padding of zeros");
        let mut out = Vec::new();
        assert_eq!(decode(&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], 7, &mut out), None, "too long");
    }
}
