//! Which fields go out with a page or another text of the balancer: nothing beside may describe another body.

/// Fields that describe a body or how it is cached (RFC 9110 §8 and §14, RFC 9111 §5.2, RFC 6266, RFC 9530).
const OF_BODY: [&str; 14] = [
    "accept-ranges",
    "cache-control",
    "content-digest",
    "content-disposition",
    "content-encoding",
    "content-language",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "digest",
    "etag",
    "last-modified",
    "repr-digest",
];

/// Fields that may stand in an answer several times: their values add up (RFC 9110 §5.3, RFC 6265 §3).
const LISTS: [&str; 8] = [
    "allow",
    "content-security-policy",
    "link",
    "proxy-authenticate",
    "server-timing",
    "set-cookie",
    "vary",
    "www-authenticate",
];

/// Without the fields that would describe a body which is not theirs. Each line has its end.
pub fn without_body_fields(lines: &[u8]) -> Vec<u8> {
    retain_lines(lines, |name| !is_among(&OF_BODY, name))
}

/// Without the fields that `own` has too, unless both may go out.
pub fn without_repeated(lines: &[u8], own: &[u8]) -> Vec<u8> {
    retain_lines(lines, |name| is_among(&LISTS, name) || !has_field(own, name))
}

/// Whether a field of this name is among the lines.
pub fn has_field(lines: &[u8], name: &str) -> bool {
    lines.split(|byte| *byte == b'\n').any(|line| {
        field_name(line).is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn retain_lines(lines: &[u8], keeps: impl Fn(&str) -> bool) -> Vec<u8> {
    let all = lines.split_inclusive(|byte| *byte == b'\n');
    let kept = all.filter(|line| {
        let name = field_name(line).and_then(|name| std::str::from_utf8(name).ok());
        name.is_some_and(&keeps)
    });
    kept.flatten().copied().collect()
}

fn field_name(line: &[u8]) -> Option<&[u8]> {
    let end = line.iter().position(|byte| *byte == b':')?;
    line.get(..end)
}

fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|one| name.eq_ignore_ascii_case(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_another_body_are_left_out() {
        for (lines, want) in [
            ("", ""),
            ("Content-Type: a/b\r\nX-A: Content-Type: c\r\n", "X-A: Content-Type: c\r\n"),
            ("ETAG: \"x\"\r\ncontent-encoding: gzip\r\nVary: Origin\r\n", "Vary: Origin\r\n"),
            ("Cache-Control: max-age=60\r\nRetry-After: 3\r\n", "Retry-After: 3\r\n"),
        ] {
            assert_eq!(without_body_fields(lines.as_bytes()), want.as_bytes(), "{lines:?}");
        }
    }

    #[test]
    fn of_two_fields_that_exclude_each_other_the_own_one_stays() {
        let own = "Retry-After: 5\r\nX-A: 1\r\nSet-Cookie: a=1\r\n";
        for (lines, want) in [
            ("retry-after: 9\r\nX-B: 2\r\n", "X-B: 2\r\n"),
            ("x-a: 2\r\nset-cookie: b=2\r\n", "set-cookie: b=2\r\n"),
            ("WWW-Authenticate: Basic\r\n", "WWW-Authenticate: Basic\r\n"),
        ] {
            let kept = without_repeated(lines.as_bytes(), own.as_bytes());
            assert_eq!(kept, want.as_bytes(), "{lines:?}");
        }
    }
}
