//! The Huffman code of header compression (RFC 7541 Appendix B), which HPACK and QPACK share.
//!
//! The code is canonical: shorter codes come first, and codes of the same length increase with their symbols. So the
//! lengths alone define the code.

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

/// Bits that one lookup in the table of short codes resolves.
/// Letters, digits and common punctuation have codes of at most ten bits.
const SHORT: usize = 10;

/// The code in the forms that decoding and encoding need.
struct HuffmanCode {
    /// The code of each symbol.
    codes: [u32; 257],
    /// For each code length: the first code, the number of codes, and the index of their first symbol in `symbols`.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    begin: [u32; LONGEST + 1],
    symbols: [u16; 257],
    /// For each start of ten bits: the symbol and, in the upper bits, the length of its code. 0: the code is longer.
    short: [u16; 1 << SHORT],
}

const fn code() -> HuffmanCode {
    let mut code = HuffmanCode {
        codes: [0; 257],
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        begin: [0; LONGEST + 1],
        symbols: [0; 257],
        short: [0; 1 << SHORT],
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
                code.codes[symbol] = next;
                let mut rest = 0;
                while length <= SHORT && rest < 1 << (SHORT - length) {
                    let start = (next as usize) << (SHORT - length);
                    code.short[start + rest] = (length as u16) << 9 | symbol as u16;
                    rest += 1;
                }
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

/// A symbol, and the number of bits of its code.
struct HuffmanSymbol {
    symbol: u16,
    length: usize,
}

/// Appends the decoded text. `None`: the code is invalid, or the text is longer than `most` bytes.
pub(crate) fn decode(coded: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let before = out.len();
    let mut rest = coded.iter();
    // The bits that are not decoded yet, from the highest down, and their number.
    let mut bits = 0u64;
    let mut held = 0usize;
    loop {
        while held <= 56
            && let Some(byte) = rest.next()
        {
            bits |= u64::from(*byte) << (56 - held);
            held += 8;
        }
        let Some(found) = first_symbol(bits).filter(|found| found.length <= held) else { break };
        if found.symbol == END || out.len() - before == most {
            return None;
        }
        out.push(found.symbol as u8);
        bits <<= found.length;
        held -= found.length;
    }
    // The padding: the start of the end-of-string code, which is all ones, with fewer than eight bits (RFC 7541 §5.2).
    (held < 8 && bits.leading_ones() as usize == held).then_some(())
}

/// The symbol whose code the bits begin with.
#[inline]
fn first_symbol(bits: u64) -> Option<HuffmanSymbol> {
    let short = CODE.short[(bits >> (64 - SHORT)) as usize];
    if short != 0 {
        return Some(HuffmanSymbol { symbol: short & 0x1ff, length: usize::from(short >> 9) });
    }
    (SHORT + 1..=LONGEST).find_map(|length| {
        let past = ((bits >> (64 - length)) as u32).checked_sub(CODE.first[length])?;
        let found = past < CODE.count[length];
        found.then(|| {
            let symbol = CODE.symbols[(CODE.begin[length] + past) as usize];
            HuffmanSymbol { symbol, length }
        })
    })
}

/// The length of the coded text in bytes.
pub(crate) fn coded_length(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Appends the text, coded and padded.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut held = 0u32;
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << length | u64::from(CODE.codes[usize::from(*byte)]);
        held += length;
        if held >= 32 {
            held -= 32;
            out.extend_from_slice(&((bits >> held) as u32).to_be_bytes());
        }
    }
    while held >= 8 {
        held -= 8;
        out.push((bits >> held) as u8);
    }
    if held > 0 {
        out.push((bits << (8 - held)) as u8 | 0xff >> held);
    }
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

    #[test]
    fn every_byte_comes_back() {
        for byte in 0..=255u8 {
            for repeated in 1..9 {
                let bytes = vec![byte; repeated];
                let mut coded = Vec::new();
                encode(&bytes, &mut coded);
                assert_eq!(coded.len(), coded_length(&bytes));
                assert_eq!(text(&coded), Some(bytes));
            }
        }
    }
}
