//! The server in the value of an application's cookie: `SERVER~VALUE`.
//!
//! A value may be quoted, and the quotes stay around it. This module knows neither header fields nor the servers.

/// The separator of the server and the application's value, as HAProxy writes it.
const DELIMITER: u8 = b'~';

/// The server in front of a value. `None` if the value has no delimiter.
pub fn prefix_of(value: &[u8]) -> Option<&[u8]> {
    let text = value.strip_prefix(b"\"").unwrap_or(value);
    text.iter().position(|byte| *byte == DELIMITER).map(|at| &text[..at])
}

/// The servers that an application's own value may name: the whole value, and the part before a delimiter.
pub fn server_candidates(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let inner = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
    [Some(inner.unwrap_or(value)), prefix_of(value)].into_iter().flatten()
}

/// Appends a value without its server, as the application set it.
pub fn write_without_prefix(value: &[u8], out: &mut Vec<u8>) {
    let Some(server) = prefix_of(value) else { return out.extend_from_slice(value) };
    let quote = usize::from(value.starts_with(b"\""));
    out.extend_from_slice(&value[..quote]);
    out.extend_from_slice(&value[quote + server.len() + 1..]);
}

/// Appends a value with a server in front.
pub fn write_with_prefix(server: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let quote = usize::from(value.starts_with(b"\""));
    out.extend_from_slice(&value[..quote]);
    out.extend_from_slice(server);
    out.push(DELIMITER);
    out.extend_from_slice(&value[quote..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_its_server_in_front_of_the_first_delimiter() {
        for (value, server, rest) in [
            ("a~v", Some("a"), "v"),
            ("a~v~w", Some("a"), "v~w"),
            ("a~", Some("a"), ""),
            ("~v", Some(""), "v"),
            ("v", None, "v"),
            ("", None, ""),
            ("\"", None, "\""),
            ("\"a~v\"", Some("a"), "\"v\""),
            // As HAProxy writes a quoted value.
            ("a~\"v\"", Some("a"), "\"v\""),
            ("\"v\"", None, "\"v\""),
        ] {
            assert_eq!(prefix_of(value.as_bytes()), server.map(str::as_bytes), "{value}");
            let mut out = Vec::new();
            write_without_prefix(value.as_bytes(), &mut out);
            assert_eq!(out, rest.as_bytes(), "{value}");
        }
    }

    #[test]
    fn what_is_put_in_front_comes_off_again() {
        for value in ["v", "", "v~w", "\"v\"", "\"", "a b", "=", "~"] {
            let mut with = Vec::new();
            let mut without = Vec::new();
            write_with_prefix(b"s1", value.as_bytes(), &mut with);
            assert_eq!(prefix_of(&with), Some(&b"s1"[..]), "{value}");
            write_without_prefix(&with, &mut without);
            assert_eq!(without, value.as_bytes(), "{value}");
        }
    }

    #[test]
    fn a_value_of_the_application_names_its_server_whole_or_in_front() {
        let all =
            |value: &'static str| -> Vec<&[u8]> { server_candidates(value.as_bytes()).collect() };
        assert_eq!(all("s1"), [&b"s1"[..]]);
        assert_eq!(all("\"s1\""), [&b"s1"[..]]);
        assert_eq!(all("s1~x"), [&b"s1~x"[..], b"s1"]);
        assert_eq!(all("\"s1~x\""), [&b"s1~x"[..], b"s1"]);
        assert_eq!(all("\""), [&b"\""[..]]);
    }
}
