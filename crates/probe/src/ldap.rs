//! LDAP (RFC 4511 §4.2): a simple bind, anonymous or with a name and password. It searches nothing.

use crate::ber;
use crate::dialogue::{Dialogue, Step, shown};

/// Bytes of an answer.
const ANSWER_BYTES: usize = 16 * 1_024;
const SEQUENCE: u8 = 0x30;
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
/// Unsolicited notices, such as that of disconnection, come as this (RFC 4511 §4.4).
const EXTENDED_RESPONSE: u8 = 0x78;

/// A dialogue under way.
#[derive(Debug)]
pub struct Ldap {
    request: Vec<u8>,
    got: Vec<u8>,
}

impl Ldap {
    /// Binds as this user.
    pub fn new(user: &str, password: &[u8]) -> Ldap {
        let credentials =
            [ber::integer(3), ber::element(0x04, user.as_bytes()), ber::element(0x80, password)];
        let bind = ber::element(BIND_REQUEST, &credentials.concat());
        let request = ber::element(SEQUENCE, &[ber::integer(1), bind].concat());
        Ldap { request, got: Vec::new() }
    }
}

impl Dialogue for Ldap {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.append(&mut self.request);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        if self.got.len() + bytes.len() > ANSWER_BYTES {
            return Step::bad("the answer to the bind is too long");
        }
        self.got.extend_from_slice(bytes);
        let message = match ber::read(&self.got) {
            ber::Read::Short if matches!(self.got.first(), None | Some(&SEQUENCE)) => {
                return Step::Wait;
            }
            ber::Read::Whole { tag: SEQUENCE, contents, .. } => contents,
            _ => return Step::bad(format!("the answer is not LDAP: {:?}", shown(&self.got))),
        };
        match result(message) {
            Some((0, _)) => {
                // UnbindRequest (RFC 4511 §4.3).
                let unbind = ber::element(0x42, &[]);
                out.extend(ber::element(SEQUENCE, &[ber::integer(2), unbind].concat()));
                Step::good("ldap bind succeeded")
            }
            Some((code, text)) => Step::bad(format!("ldap bind: {}{text}", name(code))),
            None => Step::bad("the answer is not LDAP: not an answer to a bind"),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer to the bind"
    }
}

/// The result's code and diagnostic text.
fn result(message: &[u8]) -> Option<(i64, String)> {
    let (_, rest) = ber::of(0x02, message)?;
    let ber::Read::Whole { tag: BIND_RESPONSE | EXTENDED_RESPONSE, contents, .. } = ber::read(rest)
    else {
        return None;
    };
    let (code, rest) = ber::of(0x0a, contents)?;
    let text = ber::of(0x04, rest)
        .and_then(|(_, rest)| ber::of(0x04, rest))
        .map(|(text, _)| shown(text))
        .filter(|text| !text.is_empty());
    Some((ber::number(code)?, text.map(|text| format!(": {text}")).unwrap_or_default()))
}

/// Result codes that a bind may have (RFC 4511 §4.1.9).
fn name(code: i64) -> String {
    match code {
        1 => "operations error",
        2 => "protocol error",
        7 => "simple binds are not supported",
        8 => "stronger authentication is required",
        48 => "anonymous binds are not allowed",
        49 => "wrong user or password",
        50 => "insufficient rights",
        51 => "the server is busy",
        52 => "the server is unavailable",
        53 => "the server is unwilling",
        other => return format!("result {other}"),
    }
    .to_owned()
}
