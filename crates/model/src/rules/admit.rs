//! What a service makes of a path that can be read in several ways before any rule is asked.

use crate::config::PathNormalization;
use crate::head::Head;
use crate::path::{Readings, normal_form, readings};

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    /// Rules are asked as it is.
    AsItIs,
    /// It goes on with this target.
    With(Vec<u8>),
    /// It is refused: its path is ambiguous.
    Refused,
}

/// Whether a request goes on, and with which target.
pub fn admit(normalization: PathNormalization, head: &Head<'_>) -> Admitted {
    let raw = head.raw_path();
    match normalization {
        PathNormalization::AllReadings | PathNormalization::Raw => Admitted::AsItIs,
        _ if head.path_is_plain() => Admitted::AsItIs,
        PathNormalization::Refuse => match readings(raw) {
            Readings::One => Admitted::AsItIs,
            Readings::Several(_) | Readings::TooMany => Admitted::Refused,
        },
        PathNormalization::NormalForm => {
            let mut target = normal_form(raw);
            if target == raw {
                return Admitted::AsItIs;
            }
            target.extend_from_slice(head.query());
            Admitted::With(target)
        }
    }
}

/// Writes a message once more, with another target. Returns where that lies.
pub fn retarget(
    message: &[u8],
    head: &Head<'_>,
    target: &[u8],
    out: &mut Vec<u8>,
) -> (usize, usize) {
    out.extend_from_slice(head.method());
    out.push(b' ');
    let begin = out.len();
    out.extend_from_slice(target);
    let after = head.method().len() + 1 + head.target().len();
    out.extend_from_slice(message.get(after..).unwrap_or_default());
    (begin, begin + target.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_does_what_it_says() {
        use PathNormalization::{AllReadings, NormalForm, Raw, Refuse};
        let with = |target: &str| Admitted::With(target.as_bytes().to_vec());
        for (target, setting, want) in [
            ("/a%2Fb", AllReadings, Admitted::AsItIs),
            ("/a%2Fb", Raw, Admitted::AsItIs),
            ("/a%2Fb", Refuse, Admitted::Refused),
            ("/a%2Fb", NormalForm, Admitted::AsItIs),
            ("/%7Ea?b//c", Refuse, Admitted::AsItIs),
            ("/%7Ea?b//c", NormalForm, with("/~a?b//c")),
            ("//a/../b%2f?c", NormalForm, with("/b%2F?c")),
            ("/a/b?c//%2F", Refuse, Admitted::AsItIs),
            ("*", Refuse, Admitted::AsItIs),
        ] {
            let message = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\nbody");
            let head = Head::new(message.as_bytes(), 3, (4, 4 + target.len()));
            assert_eq!(admit(setting, &head), want, "{target} {setting:?}");
            let mut out = Vec::new();
            let (begin, end) = retarget(message.as_bytes(), &head, b"/new", &mut out);
            assert_eq!(out[begin..end], *b"/new");
            assert_eq!(out, b"GET /new HTTP/1.1\r\nHost: a\r\n\r\nbody");
        }
    }
}
