//! The value of a `Cookie` field without one cookie (RFC 6265 §4.2.1).

/// What is left without the pair of this name and value.
pub fn without(cookies: &[u8], name: &str, value: &[u8]) -> Vec<u8> {
    let is_kept = |pair: &&[u8]| {
        let mut parts = pair.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
        parts.next() != Some(name.as_bytes()) || parts.next() != Some(value)
    };
    let pairs = cookies.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    pairs.filter(|pair| !pair.is_empty()).filter(is_kept).collect::<Vec<_>>().join(&b"; "[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_goes_and_the_others_stay_in_their_order() {
        for (cookies, rest) in [
            ("t=x", ""),
            ("a=1; t=x; b=2", "a=1; b=2"),
            ("t=y;a=1 ;t = x", "t=y; a=1"),
            ("T=x; tt=x; t", "T=x; tt=x; t"),
            ("", ""),
        ] {
            let left = without(cookies.as_bytes(), "t", b"x");
            assert_eq!(String::from_utf8(left).unwrap(), rest, "{cookies}");
        }
    }
}
