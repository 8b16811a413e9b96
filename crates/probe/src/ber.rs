//! BER as far as LDAP and SNMP need it (ITU-T X.690): definite lengths, tags of one byte.

/// The longest contents of an element: bounds the memory for a reply.
const LONGEST: usize = 64 * 1_024;

/// An element: tag, length, contents.
pub fn encode_element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    let length = contents.len();
    if length < 0x80 {
        out.push(length as u8);
    } else {
        let bytes = (length as u32).to_be_bytes();
        let skip = bytes.iter().take_while(|byte| **byte == 0).count();
        out.push(0x80 | (4 - skip) as u8);
        out.extend_from_slice(&bytes[skip..]);
    }
    out.extend_from_slice(contents);
    out
}

pub fn encode_integer(value: i32) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let mut from = 0;
    while from < 3 && matches!((bytes[from], bytes[from + 1] >> 7), (0, 0) | (0xff, 1)) {
        from += 1;
    }
    encode_element(0x02, &bytes[from..])
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BerResult<'b> {
    /// An element and the rest.
    Complete { tag: u8, contents: &'b [u8], rest: &'b [u8] },
    /// More bytes are needed.
    Incomplete,
    /// Not BER, or too long.
    Invalid,
}

/// Reads the element at the start of `bytes`.
pub fn read_element(bytes: &[u8]) -> BerResult<'_> {
    let [tag, first, after @ ..] = bytes else { return BerResult::Incomplete };
    if tag & 0x1f == 0x1f {
        return BerResult::Invalid;
    }
    let (length, after) = match first {
        0..=0x7f => (usize::from(*first), after),
        0x81..=0x84 => {
            let count = usize::from(first & 0x7f);
            let Some((digits, after)) = after.split_at_checked(count) else {
                return BerResult::Incomplete;
            };
            (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), after)
        }
        _ => return BerResult::Invalid,
    };
    if length > LONGEST {
        return BerResult::Invalid;
    }
    match after.split_at_checked(length) {
        Some((contents, rest)) => BerResult::Complete { tag: *tag, contents, rest },
        None => BerResult::Incomplete,
    }
}

/// The contents of an element, and the bytes after it.
#[derive(Clone, Copy, Debug)]
pub struct BerElement<'b> {
    pub contents: &'b [u8],
    pub rest: &'b [u8],
}

/// Reads an element of this tag.
pub fn read_tagged(tag: u8, bytes: &[u8]) -> Option<BerElement<'_>> {
    match read_element(bytes) {
        BerResult::Complete { tag: found, contents, rest } if found == tag => {
            Some(BerElement { contents, rest })
        }
        _ => None,
    }
}

/// An integer's value, if it fits.
pub fn parse_integer(contents: &[u8]) -> Option<i64> {
    if contents.is_empty() || contents.len() > 8 {
        return None;
    }
    let first = if contents[0] & 0x80 == 0 { 0 } else { -1i64 };
    Some(contents.iter().fold(first, |value, byte| value << 8 | i64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn encoding_round_trips(value in any::<i32>(), bytes in prop::collection::vec(any::<u8>(), 0..70_000), tag in 0u8..31) {
            let written = encode_integer(value);
            let BerElement { contents, rest } = read_tagged(0x02, &written).unwrap();
            prop_assert_eq!((parse_integer(contents), rest.len()), (Some(i64::from(value)), 0));
            let written = encode_element(tag, &bytes);
            match read_element(&written) {
                BerResult::Complete { contents, .. } => prop_assert_eq!(contents, &bytes[..]),
                other => prop_assert!(other == BerResult::Invalid && bytes.len() > LONGEST),
            }
            prop_assert_eq!(read_element(&written[..written.len().min(1)]), BerResult::Incomplete);
        }
    }
}
