//! Parameters of a query as servers may read them: as they stand there and decoded. It knows no rule.

use std::borrow::Cow;

/// Whether some parameter of this name has a value that fits, in one of the ways in which servers read a query: split
/// at `&` or also at `;`, as it stands or decoded, `+` a blank or itself.
pub fn any(query: &[u8], name: &[u8], fits: impl Fn(&[u8]) -> bool) -> bool {
    let pairs = query.split(|b| *b == b'&');
    pairs.filter(|pair| !pair.is_empty()).any(|pair| {
        let parts = || pair.split(|b| *b == b';').filter(|part| !part.is_empty());
        one(pair, name, &fits)
            || (pair.contains(&b';') && parts().any(|part| one(part, name, &fits)))
    })
}

fn one(pair: &[u8], name: &[u8], fits: &impl Fn(&[u8]) -> bool) -> bool {
    let equals = pair.iter().position(|b| *b == b'=');
    let (found, value) = match equals {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, &b""[..]),
    };
    if found == name && fits(value) {
        return true;
    }
    if !pair.iter().any(|b| matches!(b, b'%' | b'+')) {
        return false;
    }
    let each = || [true, false].into_iter();
    each().any(|blank| *decoded(found, blank) == *name)
        && (fits(value) || each().any(|blank| fits(&decoded(value, blank))))
}

/// Percent-encodings decoded, and `+` as a blank where it is one.
fn decoded(text: &[u8], plus_is_blank: bool) -> Cow<'_, [u8]> {
    if !text.iter().any(|b| matches!(b, b'%' | b'+')) {
        return Cow::Borrowed(text);
    }
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let value = digit(at + 1).zip(digit(at + 2)).map(|(high, low)| high << 4 | low);
        match (byte, value.and_then(|value| u8::try_from(value).ok())) {
            (b'%', Some(value)) => {
                out.push(value);
                at += 2;
            }
            (b'+', _) if plus_is_blank => out.push(b' '),
            _ => out.push(byte),
        }
        at += 1;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_in_every_spelling() {
        for (query, name, value, want) in [
            ("a=1&user=7", "user", "7", true),
            ("user=7&user=8", "user", "8", true),
            ("us%65r=%37", "user", "7", true),
            ("user=a+b", "user", "a b", true),
            ("user=a+b", "user", "a+b", true),
            ("user=a+b%21", "user", "a+b!", true),
            ("user=a%2Bb", "user", "a+b", true),
            ("user=%37", "user", "%37", true),
            ("a=1;user=7", "user", "7", true),
            ("a=1;user=7", "a", "1;user=7", true),
            ("flag", "flag", "", true),
            ("%66lag", "flag", "", true),
            ("&&flag&", "flag", "", true),
            ("xuser=7", "user", "7", false),
            ("user=77", "user", "7", false),
            ("user%3D7", "user", "7", false),
            ("user=%3", "user", "\u{3}", false),
            ("", "", "", false),
        ] {
            let found = any(query.as_bytes(), name.as_bytes(), |it| it == value.as_bytes());
            assert_eq!(found, want, "{query} {name} {value}");
        }
    }
}
