//! MySQL and MariaDB: the server's handshake, then a login without password. A refusal of that login is a success. A
//! dialogue that stopped after the handshake would count towards MySQL's max_connect_errors, and the server would block
//! this host.

use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};

/// Bytes of a packet at most.
/// Far above the message of an error, at most 512 bytes (MYSQL_ERRMSG_SIZE).
const PACKET_BYTES: usize = 4_096;
/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41 and CLIENT_SECURE_CONNECTION of MySQL's protocol.
const CAPABILITIES: u32 = 0x1 | 0x200 | 0x8000;
/// utf8_general_ci, known to every version of MySQL and MariaDB.
const CHARSET: u8 = 33;
/// Refusals that only a working server sends: access denied, also to a database, and unknown authentication.
const REFUSALS: [u16; 6] = [1044, 1045, 1049, 1251, 1698, 2059];

#[derive(Debug)]
pub struct MysqlProbe {
    user: String,
    received: Vec<u8>,
    version: Option<String>,
}

impl MysqlProbe {
    pub fn new(user: &str) -> MysqlProbe {
        MysqlProbe { user: user.to_owned(), received: Vec::new(), version: None }
    }

    fn handle_packet(&mut self, payload: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        match (payload.first(), &self.version) {
            (Some(0xff), _) => self.error_step(payload),
            (Some(10), None) => {
                let version = payload[1..].split(|b| *b == 0).next().unwrap_or_default();
                self.version = Some(printable_text(version));
                self.write_login(out);
                DialogueStep::Wait
            }
            (Some(_) | None, None) => DialogueStep::failure(format!(
                "the greeting is not mysql: {:?}",
                printable_text(payload)
            )),
            // OK, a request for another authentication method, or more data.
            (Some(0 | 1 | 0xfe), Some(version)) => {
                DialogueStep::success(format!("mysql {version}"))
            }
            (_, Some(_)) => {
                DialogueStep::failure("mysql log-in: an answer that is not of this protocol")
            }
        }
    }

    fn error_step(&self, payload: &[u8]) -> DialogueStep {
        let code = payload.get(1..3).map_or(0, |code| u16::from_le_bytes([code[0], code[1]]));
        let text = payload.get(3..).unwrap_or_default();
        let text =
            if text.first() == Some(&b'#') { text.get(6..).unwrap_or_default() } else { text };
        match &self.version {
            Some(version) if REFUSALS.contains(&code) => {
                DialogueStep::success(format!("mysql {version}"))
            }
            _ => DialogueStep::failure(format!("mysql error {code}: {}", printable_text(text))),
        }
    }

    fn write_login(&self, out: &mut Vec<u8>) {
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

impl ProbeDialogue for MysqlProbe {
    fn start(&mut self, _: &mut Vec<u8>) -> DialogueStep {
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        if self.received.len() + bytes.len() > 2 * PACKET_BYTES {
            return DialogueStep::failure("the server says more than mysql would");
        }
        self.received.extend_from_slice(bytes);
        while let [a, b, c, _, ..] = self.received[..] {
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            if length > PACKET_BYTES {
                return DialogueStep::failure(format!(
                    "the greeting is not mysql: {:?}",
                    printable_text(&self.received)
                ));
            }
            let Some(payload) = self.received.get(4..4 + length).map(<[u8]>::to_vec) else { break };
            self.received.drain(..4 + length);
            if let DialogueStep::Done(verdict) = self.handle_packet(&payload, out) {
                return DialogueStep::Done(verdict);
            }
        }
        DialogueStep::Wait
    }

    fn awaited(&self) -> &'static str {
        if self.version.is_none() { "greeting" } else { "answer to the log-in" }
    }
}
