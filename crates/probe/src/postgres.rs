//! PostgreSQL: a start-up message (protocol 3.0) answered by asking for authentication, or by refusing the user or the
//! database, which only a server at work does. Not while it starts up, shuts down or has no connection left.

use crate::dialogue::{Dialogue, Step, shown};

/// Bytes of a message that are taken.
const MESSAGE_BYTES: usize = 16 * 1_024;
/// Protocol 3.0.
const VERSION: u32 = 196_608;
/// Classes and codes of errors that say that the server is at work: invalid authorisation, unknown database.
const AT_WORK: [&str; 3] = ["28000", "28P01", "3D000"];

/// A dialogue under way.
#[derive(Debug)]
pub struct Postgres {
    user: String,
    got: Vec<u8>,
}

impl Postgres {
    /// Names this user.
    pub fn new(user: &str) -> Postgres {
        Postgres { user: user.to_owned(), got: Vec::new() }
    }
}

impl Dialogue for Postgres {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        let mut body = VERSION.to_be_bytes().to_vec();
        for text in ["user", &self.user, "database", &self.user] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
        body.push(0);
        out.extend((body.len() as u32 + 4).to_be_bytes());
        out.append(&mut body);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Step {
        if self.got.len() + bytes.len() > MESSAGE_BYTES {
            return Step::bad("the answer to the start-up message is too long");
        }
        self.got.extend_from_slice(bytes);
        let alien = |got: &[u8]| Step::bad(format!("the answer is not postgres: {:?}", shown(got)));
        match self.got.first() {
            None => return Step::Wait,
            Some(b'R' | b'E' | b'N') => {}
            Some(_) => return alien(&self.got),
        }
        let [kind, a, b, c, d, ..] = self.got[..] else { return Step::Wait };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if !(4..=MESSAGE_BYTES).contains(&length) {
            return alien(&self.got);
        }
        let Some(body) = self.got.get(5..1 + length).map(<[u8]>::to_vec) else { return Step::Wait };
        match kind {
            b'R' => {
                // Terminate.
                out.extend([b'X', 0, 0, 0, 4]);
                Step::good("postgres accepts connections")
            }
            b'E' => error(&body),
            _ => {
                self.got.drain(..1 + length);
                if self.got.is_empty() { Step::Wait } else { self.take(&[], out) }
            }
        }
    }

    fn awaits(&self) -> &'static str {
        "answer to the start-up message"
    }
}

/// An ErrorResponse: fields, each a letter and a text.
fn error(body: &[u8]) -> Step {
    let field = |letter: u8| {
        let found = body.split(|b| *b == 0).find(|field| field.first() == Some(&letter));
        found.map(|field| shown(&field[1..])).unwrap_or_default()
    };
    let (code, text) = (field(b'C'), field(b'M'));
    if AT_WORK.contains(&code.as_str()) {
        return Step::good("postgres accepts connections");
    }
    Step::bad(format!("postgres {code}: {text}"))
}
