//! MySQL and MariaDB: the server's handshake, then a log-in without password whose refusal is good enough. A dialogue
//! that stopped after the handshake would count towards `max_connect_errors` and get us blocked.

use crate::dialogue::{Dialogue, Step, shown};

/// Bytes of a packet that are taken.
const PACKET_BYTES: usize = 4_096;
/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x8000;
/// utf8_general_ci.
const CHARSET: u8 = 33;
/// Refusals that only a server at work gives: access denied, also to a database, and unknown authentication.
const REFUSALS: [u16; 6] = [1044, 1045, 1049, 1251, 1698, 2059];

/// A dialogue under way.
#[derive(Debug)]
pub struct Mysql {
    user: String,
    got: Vec<u8>,
    version: Option<String>,
}

impl Mysql {
    /// Names this user.
    pub fn new(user: &str) -> Mysql {
        Mysql { user: user.to_owned(), got: Vec::new(), version: None }
    }

    fn packet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Step {
        match (payload.first(), &self.version) {
            (Some(0xff), _) => self.error(payload),
            (Some(10), None) => {
                let version = payload[1..].split(|b| *b == 0).next().unwrap_or_default();
                self.version = Some(shown(version));
                self.log_in(out);
                Step::Wait
            }
            (Some(_) | None, None) => {
                Step::bad(format!("the greeting is not mysql: {:?}", shown(payload)))
            }
            // OK, or another way of authentication asked for, or more of the same.
            (Some(0 | 1 | 0xfe), Some(version)) => Step::good(format!("mysql {version}")),
            (_, Some(_)) => Step::bad("mysql log-in: an answer that is not of this protocol"),
        }
    }

    fn error(&self, payload: &[u8]) -> Step {
        let code = payload.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
        let text = payload.get(3..).unwrap_or_default();
        let text =
            if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
        match &self.version {
            Some(version) if REFUSALS.contains(&code) => Step::good(format!("mysql {version}")),
            _ => Step::bad(format!("mysql error {code}: {}", shown(text))),
        }
    }

    /// HandshakeResponse41.
    fn log_in(&self, out: &mut Vec<u8>) {
        let mut body = CAPABILITIES.to_le_bytes().to_vec();
        body.extend((PACKET_BYTES as u32).to_le_bytes());
        body.push(CHARSET);
        body.extend([0; 23]);
        body.extend_from_slice(self.user.as_bytes());
        body.extend([0, 0]);
        out.extend_from_slice(&(body.len() as u32).to_le_bytes()[..3]);
        out.push(1);
        out.append(&mut body);
    }
}

impl Dialogue for Mysql {
    fn begin(&mut self, _: &mut Vec<u8>) -> Step {
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        if self.got.len() + bytes.len() > 2 * PACKET_BYTES {
            return Step::bad("the server says more than mysql would");
        }
        self.got.extend_from_slice(bytes);
        while let [a, b, c, _, ..] = self.got[..] {
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if length > PACKET_BYTES {
                return Step::bad(format!("the greeting is not mysql: {:?}", shown(&self.got)));
            }
            let Some(payload) = self.got.get(4..4 + length).map(<[u8]>::to_vec) else { break };
            self.got.drain(..4 + length);
            if let Step::Done(verdict) = self.packet(&payload, out) {
                return Step::Done(verdict);
            }
        }
        Step::Wait
    }

    fn awaits(&self) -> &'static str {
        if self.version.is_none() { "greeting" } else { "answer to the log-in" }
    }
}
