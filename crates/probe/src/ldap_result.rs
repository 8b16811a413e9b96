//! Results of LDAP operations (RFC 4511 §4.1.9), and the tags that all messages share.

use crate::ber;
use crate::dialogue::printable_text;

/// The tag of BER for a sequence (X.690), which every message is.
pub const SEQUENCE: u8 = 0x30;
pub const INTEGER: u8 = 0x02;
pub const OCTETS: u8 = 0x04;
pub const ENUMERATED: u8 = 0x0a;

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapResult {
    pub code: i64,
    /// The diagnostic text with a colon before it; empty if there is none.
    pub text: String,
}

impl LdapResult {
    /// Reads the contents of a response; `None` if they are something else.
    pub fn parse(contents: &[u8]) -> Option<LdapResult> {
        let code = ber::read_tagged(ENUMERATED, contents)?;
        let text = ber::read_tagged(OCTETS, code.rest)
            .and_then(|name| ber::read_tagged(OCTETS, name.rest))
            .map(|text| printable_text(text.contents))
            .filter(|text| !text.is_empty());
        Some(LdapResult {
            code: ber::parse_integer(code.contents)?,
            text: text.map(|text| format!(": {text}")).unwrap_or_default(),
        })
    }

    /// The result as text: what its code means, and what the server says about it.
    pub fn describe(&self) -> String {
        format!("{}{}", code_name(self.code), self.text)
    }
}

fn code_name(code: i64) -> String {
    match code {
        1 => "operations error",
        2 => "protocol error",
        3 => "the server's time limit was exceeded",
        7 => "simple binds are not supported",
        8 => "stronger authentication is required",
        10 => "the server refers to another one",
        11 => "the server's limit was exceeded",
        12 => "a critical extension is not available",
        18 => "inappropriate matching",
        32 => "no such entry",
        34 => "the DN is not valid",
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
