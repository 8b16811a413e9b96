//! What the answer to a question means for the request: a pure decision, and what others get of the answer.

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
            lines("take = [\"X-User\", \"X-Role\", \"X-Absent\"]"),
            "X-User: ann\r\nX-Role: a\r\nX-Role: b\r\n"
        );
    }
}
