//! Parameters of a query as servers may read them: as written, decoded, and decoded further. It knows no rule.

use std::borrow::Cow;

/// How often a parameter may be encoded, as for paths.
/// Servers behind a proxy that decodes see one level less; three levels cover two of them.
const LEVELS: usize = 3;

/// The meaning of a `+`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlusMeaning {
    /// A blank, as in forms.
    Blank,
    Itself,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuerySeparators {
    Ampersand,
    Both,
}

impl QuerySeparators {
    /// The separators that make a difference in a query.
    pub fn relevant_in(query: &[u8]) -> &'static [QuerySeparators] {
        let all = &[QuerySeparators::Ampersand, QuerySeparators::Both];
        if query.contains(&b';') { all } else { &all[..1] }
    }
}

/// Whether some parameter of this name has a matching value, in one of the usual readings of a query. These are:
/// split at `&` or also at `;`, as written or decoded, with `+` as a blank or itself.
pub fn any_value_matches(query: &[u8], name: &[u8], fits_: impl Fn(&[u8]) -> bool) -> bool {
    QuerySeparators::relevant_in(query).iter().any(|separators| {
        let mut matched = false;
        visit_values(query, *separators, name, &mut |value| {
            matched = matched || matches_decoded(value, &fits_)
        });
        matched
    })
}

/// The same for servers that decode further: twice or three times, `%uXXXX` as IIS, and names as in PHP and Rails, for
/// which `us.er` is `us_er` and `user[]` is `user`.
pub fn any_deep_decoded_matches(query: &[u8], name: &[u8], fits: impl Fn(&[u8]) -> bool) -> bool {
    let special = |b: &u8| matches!(b, b'%' | b'+' | b'.' | b'[');
    if !query.iter().any(special) {
        return false;
    }
    QuerySeparators::relevant_in(query).iter().any(|separators| {
        pairs(query, *separators).any(|(key, value)| {
            is_deep_decoded_name(key, name) && decoded_forms(value).iter().any(|form| fits(form))
        })
    })
}

/// Whether a name equals the wanted one for such a server. Cheap for other names: a query may have thousands.
fn is_deep_decoded_name(key: &[u8], name: &[u8]) -> bool {
    let is = |form: &[u8]| form == name || is_php_name(form, name);
    let may_become = key.len() > name.len() && has_codes(key);
    is(key) || may_become && decoded_forms(key).iter().any(|form| is(form))
}

/// Visits the values of the parameters of this name, as written or decoded, in their order.
pub fn visit_values(
    query: &[u8],
    separators: QuerySeparators,
    name: &[u8],
    visit: &mut dyn FnMut(&[u8]),
) {
    for (key, value) in pairs(query, separators) {
        if key == name || has_codes(key) && matches_decoded(key, &|form| form == name) {
            visit(value);
        }
    }
}

/// Whether a text matches as written or decoded.
pub fn matches_decoded(text: &[u8], fits: &dyn Fn(&[u8]) -> bool) -> bool {
    fits(text)
        || has_codes(text)
            && (fits(&decoded(text, PlusMeaning::Blank))
                || fits(&decoded(text, PlusMeaning::Itself)))
}

fn has_codes(text: &[u8]) -> bool {
    text.iter().any(|b| matches!(b, b'%' | b'+'))
}

fn pairs(query: &[u8], separators: QuerySeparators) -> impl Iterator<Item = (&[u8], &[u8])> {
    let ends = move |b: &u8| *b == b'&' || (*b == b';' && separators == QuerySeparators::Both);
    query.split(ends).filter(|pair| !pair.is_empty()).map(|pair| {
        let equals = pair.iter().position(|b| *b == b'=');
        equals.map_or((pair, &b""[..]), |at| (&pair[..at], &pair[at + 1..]))
    })
}

/// A text as written, and after each further decoding.
fn decoded_forms(text: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![text.to_vec()];
    let mut newest = all.clone();
    for _ in 0..LEVELS {
        let each = newest.iter().filter(|form| has_codes(form));
        let further: Vec<Vec<u8>> = each
            .flat_map(|form| {
                let narrow = narrow_unicode(form);
                [PlusMeaning::Blank, PlusMeaning::Itself]
                    .map(|plus| decoded(&narrow, plus).into_owned())
            })
            .filter(|form| !all.contains(form))
            .collect();
        newest = further;
        newest.dedup();
        all.extend(newest.iter().cloned());
    }
    all
}

/// `%uXXXX` of ASCII as a percent-encoding.
fn narrow_unicode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        out.push(first);
        if let (b'%', [b'u' | b'U', b'0', b'0', high @ b'0'..=b'7', low, then @ ..]) =
            (first, after)
        {
            out.extend_from_slice(&[*high, *low]);
            rest = then;
        }
    }
    out
}

/// Whether PHP maps a parameter to a variable of this name. The parameter's name ends at a zero byte or at its index,
/// loses leading blanks, and blanks and dots in it become `_`.
fn is_php_name(key: &[u8], name: &[u8]) -> bool {
    let key = key.trim_ascii_start();
    let same = |(a, b): (&u8, &u8)| a == b || *b == b'_' && matches!(a, b'.' | b' ');
    let ended = matches!(key.get(name.len()), None | Some(0 | b'['));
    ended && key.len() >= name.len() && key.iter().zip(name).all(same)
}

pub fn decoded(text: &[u8], plus: PlusMeaning) -> Cow<'_, [u8]> {
    if !has_codes(text) {
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
            (b'+', _) if plus == PlusMeaning::Blank => out.push(b' '),
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
            ("user=%2537", "user", "7", false),
            ("user[]=7", "user", "7", false),
            ("", "", "", false),
        ] {
            let matched = any_value_matches(query.as_bytes(), name.as_bytes(), |bytes| {
                bytes == value.as_bytes()
            });
            assert_eq!(matched, want, "{query} {name} {value}");
        }
    }

    #[test]
    fn a_value_is_found_by_what_decodes_further() {
        for (query, name, value, want) in [
            ("user=%2537", "user", "7", true),
            ("user=%252537", "user", "7", true),
            ("user=%25252537", "user", "7", false),
            ("us%2565r=7", "user", "7", true),
            ("user=a%252Bb", "user", "a b", true),
            ("user=%u0037", "user", "7", true),
            ("user=%u0137", "user", "7", false),
            ("user[]=7", "user", "7", true),
            ("user%5Bx%5D=7", "user", "7", true),
            ("us.er=7", "us_er", "7", true),
            ("%20us+er%00x=7", "us_er", "7", true),
            ("a=1;user=%2537", "user", "7", true),
            ("user=8", "user", "7", false),
            // A URL inside a parameter is one value.
            ("next=%2Fa%3Fx%26user%3D7", "user", "7", false),
        ] {
            let fits = |bytes: &[u8]| bytes == value.as_bytes();
            let matched = any_deep_decoded_matches(query.as_bytes(), name.as_bytes(), fits);
            assert_eq!(matched, want, "{query} {name} {value}");
        }
    }
}
