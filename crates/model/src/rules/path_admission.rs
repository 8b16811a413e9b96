//! Handles a path with several readings before any rule is evaluated.

use std::ops::Range;

use crate::config::PathNormalization;
use crate::path::{PathReadings, normal_form, possible_readings};
use crate::request_head::ParsedHead;

/// What happens to the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathAdmission {
    /// Rules are evaluated for the path as it is.
    Unchanged,
    /// The request continues with this target.
    Rewritten(Vec<u8>),
    /// The request is refused: its path is ambiguous.
    Refused,
}

/// Whether a request continues, and with which target.
pub fn admit_path(normalization: PathNormalization, head: &ParsedHead<'_>) -> PathAdmission {
    let raw = head.raw_path();
    match normalization {
        PathNormalization::AllReadings | PathNormalization::Raw => PathAdmission::Unchanged,
        _ if head.path_is_plain() => PathAdmission::Unchanged,
        PathNormalization::Refuse => match possible_readings(raw) {
            PathReadings::One => PathAdmission::Unchanged,
            PathReadings::Several(_) | PathReadings::TooMany => PathAdmission::Refused,
        },
        PathNormalization::NormalForm => {
            let mut target = normal_form(raw);
            if target == raw {
                return PathAdmission::Unchanged;
            }
            target.extend_from_slice(head.query());
            PathAdmission::Rewritten(target)
        }
    }
}

/// Writes a message with another target. Returns the range of the target.
pub fn write_with_target(
    message: &[u8],
    head: &ParsedHead<'_>,
    target: &[u8],
    out: &mut Vec<u8>,
) -> Range<usize> {
    out.extend_from_slice(head.method());
    out.push(b' ');
    let begin = out.len();
    out.extend_from_slice(target);
    let after = head.method().len() + 1 + head.target().len();
    out.extend_from_slice(message.get(after..).unwrap_or_default());
    begin..begin + target.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_does_what_it_says() {
        use PathNormalization::{AllReadings, NormalForm, Raw, Refuse};
        let with = |target: &str| PathAdmission::Rewritten(target.as_bytes().to_vec());
        for (target, setting, want) in [
            ("/a%2Fb", AllReadings, PathAdmission::Unchanged),
            ("/a%2Fb", Raw, PathAdmission::Unchanged),
            ("/a%2Fb", Refuse, PathAdmission::Refused),
            ("/a%2Fb", NormalForm, PathAdmission::Unchanged),
            ("/%7Ea?b//c", Refuse, PathAdmission::Unchanged),
            ("/%7Ea?b//c", NormalForm, with("/~a?b//c")),
            ("//a/../b%2f?c", NormalForm, with("/b%2F?c")),
            ("/a/b?c//%2F", Refuse, PathAdmission::Unchanged),
            ("*", Refuse, PathAdmission::Unchanged),
        ] {
            let message = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\nbody");
            let head = ParsedHead::new(message.as_bytes(), 3, 4..4 + target.len());
            assert_eq!(admit_path(setting, &head), want, "{target} {setting:?}");
            let mut out = Vec::new();
            let place = write_with_target(message.as_bytes(), &head, b"/new", &mut out);
            assert_eq!(out[place], *b"/new");
            assert_eq!(out, b"GET /new HTTP/1.1\r\nHost: a\r\n\r\nbody");
        }
    }
}
