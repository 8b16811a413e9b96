//! The question whether a request may pass, as a request of its own to a server of `[auth]`. It is written here and sent
//! elsewhere.
//!
//! Nothing in it is as a client wrote it, except for the fields that the object names: what tells of the request comes
//! from us.

use std::net::IpAddr;

use model::config::AuthConfig;
use model::request_head::fields;

/// Of several lines of this field it is not clear which one counts (RFC 9110 §11.6.2).
const SINGLE_FIELD: &str = "authorization";

/// What a question tells of a request.
#[derive(Clone, Copy, Debug)]
pub struct QuestionFacts<'r> {
    pub method: &'r [u8],
    pub target: &'r [u8],
    pub scheme: &'r str,
    pub client: IpAddr,
    /// The head of the request, from which the fields are taken.
    pub head: &'r [u8],
}

/// Writes the question. `None`: the request has several credentials.
pub fn write_question(config: &AuthConfig, facts: &QuestionFacts<'_>) -> Option<Vec<u8>> {
    let host = fields(facts.head, b"host").next().unwrap_or_default();
    let client = facts.client.to_canonical().to_string();
    let mut out = Vec::with_capacity(512);
    for part in ["GET ", config.path.as_str(), " HTTP/1.1"] {
        out.extend_from_slice(part.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    write_line("Host", config.host.as_ref().map_or(host, |host| host.as_bytes()), &mut out);
    write_line("X-Forwarded-Method", facts.method, &mut out);
    write_line("X-Forwarded-Proto", facts.scheme.as_bytes(), &mut out);
    write_line("X-Forwarded-Host", host, &mut out);
    write_line("X-Forwarded-Uri", facts.target, &mut out);
    write_line("X-Forwarded-For", client.as_bytes(), &mut out);
    for name in &config.send {
        let single = name.eq_ignore_ascii_case(SINGLE_FIELD);
        for (at, value) in fields(facts.head, name.as_bytes()).enumerate() {
            if single && at > 0 {
                return None;
            }
            write_line(name, value, &mut out);
        }
    }
    out.extend_from_slice(b"\r\n");
    Some(out)
}

fn write_line(name: &str, value: &[u8], out: &mut Vec<u8>) {
    for part in [name.as_bytes(), b": ", value, b"\r\n"] {
        out.extend_from_slice(part);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::Arc;

    use super::*;

    const HEAD: &str = "POST /a HTTP/1.1\r\nHost: shop.example\r\nCookie: a=1\r\ncookie: b=2\r\n\
        Authorization: Bearer x\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Uri: /public\r\nX-Team: red\r\n\r\nCookie: body\r\n";

    /// An object with these keys beside.
    pub fn object(keys: &str) -> Arc<AuthConfig> {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\nauth = \"a\"\n\
             [pool.p]\nservers = [\"127.0.0.1:81\"]\n[pool.q]\nservers = [\"127.0.0.1:82\"]\n\
             [auth.a]\nkind = \"request\"\npool = \"q\"\n{keys}"
        );
        let loaded = model::config::load(&text, "f").unwrap_or_else(|error| panic!("{error}"));
        loaded.config.auths["a"].clone()
    }

    fn question(keys: &str, head: &str) -> Option<String> {
        let facts = QuestionFacts {
            method: b"POST",
            target: b"/a?b",
            scheme: "https",
            client: "::ffff:192.0.2.7".parse().unwrap(),
            head: head.as_bytes(),
        };
        write_question(&object(keys), &facts).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_question_has_our_facts_and_the_fields_of_the_list() {
        let ours = "X-Forwarded-Method: POST\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: shop.example\r\n\
            X-Forwarded-Uri: /a?b\r\nX-Forwarded-For: 192.0.2.7\r\n";
        let cookies = "Cookie: a=1\r\nCookie: b=2\r\n";
        let rows = [
            (
                "",
                "GET / HTTP/1.1\r\nHost: shop.example\r\n",
                format!("{cookies}Authorization: Bearer x\r\n"),
            ),
            (
                "path = \"/check?realm=1\"\nhost = \"auth.internal\"\nrequest-headers = \"x-team\"",
                "GET /check?realm=1 HTTP/1.1\r\nHost: auth.internal\r\n",
                "x-team: red\r\n".to_owned(),
            ),
            (
                "request-headers = \"none\"",
                "GET / HTTP/1.1\r\nHost: shop.example\r\n",
                String::new(),
            ),
            (
                "request-headers = [\"X-Absent\", \"Cookie\"]",
                "GET / HTTP/1.1\r\nHost: shop.example\r\n",
                cookies.to_owned(),
            ),
        ];
        for (keys, begin, sent) in rows {
            assert_eq!(question(keys, HEAD), Some(format!("{begin}{ours}{sent}\r\n")), "{keys}");
        }
    }

    #[test]
    fn of_several_credentials_none_is_asked_for() {
        let twice = HEAD.replace("X-Team", "authorization");
        assert_eq!(question("", &twice), None);
        assert!(question("request-headers = \"Cookie\"", &twice).is_some(), "it is not sent");
    }
}
