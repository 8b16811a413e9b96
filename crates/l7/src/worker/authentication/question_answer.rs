//! What the answer to a question means for the request: a pure decision, and what others get of the answer.

use std::time::Duration;

use model::config::AuthConfig;
use wire::http1::Header;

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerMeaning {
    /// The request passes.
    Admit,
    /// The client gets the answer.
    Refuse,
    /// It is no answer to the question.
    Unusable,
}

/// What an answer with this status means. A redirect leads to a page to log in; 304 answers what was never asked.
pub fn interpret_status(status: u16) -> AnswerMeaning {
    match status {
        200..=299 => AnswerMeaning::Admit,
        304 => AnswerMeaning::Unusable,
        300..=399 | 401 | 403 => AnswerMeaning::Refuse,
        _ => AnswerMeaning::Unusable,
    }
}

/// The field lines of an answer that the request to the server gets.
pub fn taken_lines(config: &AuthConfig, headers: &[Header<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for name in &config.take {
        for header in headers.iter().filter(|it| it.name.eq_ignore_ascii_case(name)) {
            write_field(name, header.value, &mut out);
        }
    }
    out
}

/// How long an answer with these fields counts, `most` at most; `None`: for one request. What does not say so clearly is
/// not remembered (RFC 9111 §5.2.2).
pub fn validity(most: Duration, headers: &[Header<'_>]) -> Option<Duration> {
    let mut time = most;
    let mut expires = false;
    let mut has_age = false;
    for Header { name, value } in headers {
        let named = |one: &str| name.eq_ignore_ascii_case(one);
        if named("set-cookie") || (named("vary") && value.contains(&b'*')) || named("pragma") {
            return None;
        }
        expires |= named("expires");
        if !named("cache-control") {
            continue;
        }
        for directive in value.split(|byte| *byte == b',') {
            let directive = std::str::from_utf8(directive).ok()?.trim().to_ascii_lowercase();
            let mut parts = directive.splitn(2, '=');
            let key = parts.next().unwrap_or_default().trim_end();
            match key {
                "no-store" | "no-cache" => return None,
                "max-age" | "s-maxage" => {
                    let seconds = parts.next().unwrap_or_default().trim().trim_matches('"');
                    has_age = true;
                    time = time.min(Duration::from_secs(seconds.parse().ok()?));
                }
                _ => {}
            }
        }
    }
    (!time.is_zero() && (has_age || !expires)).then_some(time)
}

/// The line of a field.
pub fn write_field(name: &str, value: &[u8], out: &mut Vec<u8>) {
    for part in [name.as_bytes(), b": ", value.trim_ascii(), b"\r\n"] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::super::question::tests::object;
    use super::*;

    #[test]
    fn every_status_has_one_meaning() {
        let admitted = [200, 204, 206, 299];
        let refused = [300, 301, 302, 303, 307, 308, 399, 401, 403];
        for status in 0..=999 {
            let want = match status {
                _ if admitted.contains(&status) => AnswerMeaning::Admit,
                _ if refused.contains(&status) => AnswerMeaning::Refuse,
                201..=298 => AnswerMeaning::Admit,
                305..=398 => AnswerMeaning::Refuse,
                _ => AnswerMeaning::Unusable,
            };
            assert_eq!(interpret_status(status), want, "{status}");
        }
        for status in [100, 199, 304, 400, 404, 407, 418, 429, 500, 503] {
            assert_eq!(interpret_status(status), AnswerMeaning::Unusable, "{status}");
        }
    }

    #[test]
    fn servers_get_the_fields_of_the_list_and_no_others() {
        let headers = [("x-user", "ann"), ("X-Role", "a"), ("X-Evil", "1"), ("X-ROLE", "b")]
            .map(|(name, value)| Header { name, value: value.as_bytes() });
        let lines = |keys: &str| String::from_utf8(taken_lines(&object(keys), &headers)).unwrap();
        assert_eq!(lines(""), "");
        assert_eq!(
            lines("response-headers = [\"X-User\", \"X-Role\", \"X-Absent\"]"),
            "X-User: ann\r\nX-Role: a\r\nX-Role: b\r\n"
        );
    }

    #[test]
    fn an_answer_counts_as_long_as_it_says_and_no_longer_than_is_wanted() {
        let most = Duration::from_secs(60);
        let rows = [
            ("", Some(60)),
            ("X-User: ann", Some(60)),
            ("Set-Cookie: a=1", None),
            ("Cache-Control: no-store", None),
            ("cache-control: private, NO-STORE", None),
            ("Cache-Control: no-cache=\"x-user\"", None),
            ("Cache-Control: private\nCache-Control: no-store", None),
            ("Cache-Control: private", Some(60)),
            ("Cache-Control: max-age=5", Some(5)),
            ("Cache-Control: max-age = \"5\"", Some(5)),
            ("Cache-Control: max-age=500", Some(60)),
            ("Cache-Control: max-age=30, s-maxage=20", Some(20)),
            ("Cache-Control: max-age=0", None),
            ("Cache-Control: max-age=soon", None),
            ("Cache-Control: max-age=-1", None),
            ("Expires: 0", None),
            ("Expires: 0\nCache-Control: max-age=5", Some(5)),
            ("Pragma: no-cache", None),
            ("Vary: Origin, *", None),
        ];
        for (fields, want) in rows {
            let headers: Vec<Header<'_>> = fields
                .lines()
                .filter_map(|line| line.split_once(": "))
                .map(|(name, value)| Header { name, value: value.as_bytes() })
                .collect();
            assert_eq!(validity(most, &headers), want.map(Duration::from_secs), "{fields}");
        }
    }
}
