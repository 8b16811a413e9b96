//! The parameter of a query that has a credential: reading it, taking it out, and hiding it from the log.

use std::borrow::Cow;

use model::query::{PlusMeaning, decoded};

/// What a target says in the parameter.
#[derive(Debug, PartialEq, Eq)]
pub enum ParameterValue<'t> {
    Absent,
    Value(Cow<'t, [u8]>),
    /// It is there more than once, so it is not clear which one counts.
    Repeated,
}

/// The value of the parameter, whose name may be spelled in percent-encoding.
pub fn find<'t>(target: &'t [u8], name: &str) -> ParameterValue<'t> {
    let mut values = parameters(target).filter(|part| is_named(part, name)).map(value);
    match (values.next(), values.next()) {
        (None, _) => ParameterValue::Absent,
        (Some(value), None) => ParameterValue::Value(decoded(value, PlusMeaning::Itself)),
        (Some(_), Some(_)) => ParameterValue::Repeated,
    }
}

/// The target without the parameter.
pub fn without(target: &[u8], name: &str) -> Vec<u8> {
    let mut out = path(target).to_vec();
    let mut separator = b'?';
    for part in parameters(target).filter(|part| !is_named(part, name)) {
        out.push(separator);
        out.extend_from_slice(part);
        separator = b'&';
    }
    out
}

/// The target with `-` in the place of the value.
pub fn hidden(target: &[u8], name: &str) -> Vec<u8> {
    let mut out = path(target).to_vec();
    let mut separator = b'?';
    for part in parameters(target) {
        out.push(separator);
        separator = b'&';
        match is_named(part, name) {
            true => [name.as_bytes(), b"=-"].iter().for_each(|part| out.extend_from_slice(part)),
            false => out.extend_from_slice(part),
        }
    }
    out
}

fn path(target: &[u8]) -> &[u8] {
    target.split(|byte| *byte == b'?').next().unwrap_or_default()
}

fn parameters(target: &[u8]) -> impl Iterator<Item = &[u8]> {
    let begin = target.iter().position(|byte| *byte == b'?').map(|at| at + 1);
    let query = begin.and_then(|begin| target.get(begin..));
    query.into_iter().flat_map(|query| query.split(|byte| *byte == b'&'))
}

fn is_named(part: &[u8], name: &str) -> bool {
    let own = part.split(|byte| *byte == b'=').next().unwrap_or_default();
    *decoded(own, PlusMeaning::Itself) == *name.as_bytes()
}

fn value(part: &[u8]) -> &[u8] {
    let at = part.iter().position(|byte| *byte == b'=').map_or(part.len(), |at| at + 1);
    part.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_in_each_spelling_taken_out_and_hidden() {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        for (target, value, without_it, hidden_it) in [
            ("/a", None, "/a", "/a"),
            ("/a?", None, "/a?", "/a?"),
            ("/a?key=x", Some("x"), "/a", "/a?key=-"),
            ("/a?b=1&key=x%2By+z&c", Some("x+y+z"), "/a?b=1&c", "/a?b=1&key=-&c"),
            ("/a?%6Bey=x?y=z", Some("x?y=z"), "/a", "/a?key=-"),
            ("/a?key", Some(""), "/a", "/a?key=-"),
            ("/a?Key=x&keys=y", None, "/a?Key=x&keys=y", "/a?Key=x&keys=y"),
        ] {
            let found = match find(target.as_bytes(), "key") {
                ParameterValue::Value(value) => Some(text(value.into_owned())),
                _ => None,
            };
            assert_eq!(found.as_deref(), value, "{target}");
            assert_eq!(text(without(target.as_bytes(), "key")), without_it, "{target}");
            assert_eq!(text(hidden(target.as_bytes(), "key")), hidden_it, "{target}");
        }
        assert_eq!(find(b"/?key=a&%6bey=b", "key"), ParameterValue::Repeated);
    }
}
