//! PostgreSQL: a start-up message (protocol 3.0). A request for authentication, or a refusal of the user or database,
//! proves a working server. A server that starts up, shuts down or has no connection left fails the check.

use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};

/// Bytes of a message at most.
/// Far above the answers to a startup message; a broken server must not fill the memory.
const MESSAGE_BYTES: usize = 16 * 1_024;
/// Protocol 3.0: major 3 in the high half of the number.
const VERSION: u32 = 196_608;
/// Error classes and codes that prove a working server: invalid authorisation, unknown database.
const AT_WORK: [&str; 3] = ["28000", "28P01", "3D000"];

#[derive(Debug)]
pub struct PostgresProbe {
    user: String,
    received: Vec<u8>,
}

impl PostgresProbe {
    pub fn new(user: &str) -> PostgresProbe {
        PostgresProbe { user: user.to_owned(), received: Vec::new() }
    }
}

impl ProbeDialogue for PostgresProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        let mut body = VERSION.to_be_bytes().to_vec();
        for text in ["user", &self.user, "database", &self.user] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        out.extend((body.len() as u32 + 4).to_be_bytes());
        out.append(&mut body);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> DialogueStep {
        if self.received.len() + bytes.len() > MESSAGE_BYTES {
            return DialogueStep::failure("the answer to the start-up message is too long");
        }
        self.received.extend_from_slice(bytes);
        let alien = |got: &[u8]| {
            DialogueStep::failure(format!("the answer is not postgres: {:?}", printable_text(got)))
        };
        match self.received.first() {
            None => return DialogueStep::Wait,
            Some(b'R' | b'E' | b'N') => {}
            Some(_) => return alien(&self.received),
        }
        let [kind, a, b, c, d, ..] = self.received[..] else { return DialogueStep::Wait };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=MESSAGE_BYTES).contains(&length) {
            return alien(&self.received);
        }
        let Some(body) = self.received.get(5..1 + length).map(<[u8]>::to_vec) else {
            return DialogueStep::Wait;
        };
        match kind {
            b'R' => {
                // Terminate.
                out.extend([b'X', 0, 0, 0, 4]);
                DialogueStep::success("postgres accepts connections")
            }
            b'E' => error_step(&body),
            _ => {
                self.received.drain(..1 + length);
                if self.received.is_empty() { DialogueStep::Wait } else { self.receive(&[], out) }
            }
        }
    }

    fn awaited(&self) -> &'static str {
        "answer to the start-up message"
    }
}

/// An ErrorResponse: fields, each a letter and a text.
fn error_step(body: &[u8]) -> DialogueStep {
    let field = |letter: u8| {
        let found = body.split(|b| *b == 0).find(|field| field.first() == Some(&letter));
        found.map(|field| printable_text(&field[1..])).unwrap_or_default()
    };
    let code = field(b'C');
    let text = field(b'M');
    if AT_WORK.contains(&code.as_str()) {
        return DialogueStep::success("postgres accepts connections");
    }
    DialogueStep::failure(format!("postgres {code}: {text}"))
}
