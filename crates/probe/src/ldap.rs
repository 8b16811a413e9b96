//! LDAP (RFC 4511 §4.2): a simple bind, anonymous or with a name and password. It searches nothing.

use crate::ber;
use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};

/// Bytes of a reply at most.
/// Far above a bind response with a diagnostic message; a broken server must not fill the memory.
const ANSWER_BYTES: usize = 16 * 1_024;
/// Tags of BER: SEQUENCE (X.690), BindRequest and BindResponse (RFC 4511 §4.2).
const SEQUENCE: u8 = 0x30;
const BIND_REQUEST: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
/// Unsolicited notices, such as of a disconnection, have this tag (RFC 4511 §4.4).
const EXTENDED_RESPONSE: u8 = 0x78;

#[derive(Debug)]
pub struct LdapProbe {
    request: Vec<u8>,
    received: Vec<u8>,
}

impl LdapProbe {
    pub fn new(user: &str, password: &[u8]) -> LdapProbe {
        let credentials = [
            ber::encode_integer(3),
            ber::encode_element(0x04, user.as_bytes()),
            ber::encode_element(0x80, password),
        ];
        let bind = ber::encode_element(BIND_REQUEST, &credentials.concat());
        let request = ber::encode_element(SEQUENCE, &[ber::encode_integer(1), bind].concat());
        LdapProbe { request, received: Vec::new() }
    }
}

impl ProbeDialogue for LdapProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.append(&mut self.request);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        if self.received.len() + bytes.len() > ANSWER_BYTES {
            return DialogueStep::failure("the answer to the bind is too long");
        }
        self.received.extend_from_slice(bytes);
        let message = match ber::read_element(&self.received) {
            ber::BerResult::Incomplete
                if matches!(self.received.first(), None | Some(&SEQUENCE)) =>
            {
                return DialogueStep::Wait;
            }
            ber::BerResult::Complete { tag: SEQUENCE, contents, .. } => contents,
            _ => {
                return DialogueStep::failure(format!(
                    "the answer is not LDAP: {:?}",
                    printable_text(&self.received)
                ));
            }
        };
        match bind_result(message) {
            Some((0, _)) => {
                // UnbindRequest (RFC 4511 §4.3).
                let unbind = ber::encode_element(0x42, &[]);
                out.extend(ber::encode_element(
                    SEQUENCE,
                    &[ber::encode_integer(2), unbind].concat(),
                ));
                DialogueStep::success("ldap bind succeeded")
            }
            Some((code, text)) => {
                DialogueStep::failure(format!("ldap bind: {}{text}", result_name(code)))
            }
            None => DialogueStep::failure("the answer is not LDAP: not an answer to a bind"),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer to the bind"
    }
}

/// The result's code and diagnostic text.
fn bind_result(message: &[u8]) -> Option<(i64, String)> {
    let rest = ber::read_tagged(0x02, message)?.rest;
    let ber::BerResult::Complete { tag: BIND_RESPONSE | EXTENDED_RESPONSE, contents, .. } =
        ber::read_element(rest)
    else {
        return None;
    };
    let code = ber::read_tagged(0x0a, contents)?;
    let text = ber::read_tagged(0x04, code.rest)
        .and_then(|name| ber::read_tagged(0x04, name.rest))
        .map(|text| printable_text(text.contents))
        .filter(|text| !text.is_empty());
    Some((
        ber::parse_integer(code.contents)?,
        text.map(|text| format!(": {text}")).unwrap_or_default(),
    ))
}

/// Result codes of a bind (RFC 4511 §4.1.9).
fn result_name(code: i64) -> String {
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
