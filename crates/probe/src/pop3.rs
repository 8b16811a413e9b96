//! POP3 (RFC 1939): greeting +OK. It does not log in.

use crate::script::{Judged, Protocol, Turn};

/// The turn.
pub static POP3: Protocol = Protocol {
    name: "pop3",
    first: "",
    turns: &[Turn { awaits: "greeting", judge, say: "QUIT\r\n" }],
};

fn judge(line: &[u8]) -> Judged {
    let word = line.split(|b| *b == b' ').next().unwrap_or_default();
    match word {
        b"+OK" => Judged::Good,
        b"-ERR" => Judged::NotReady,
        _ => Judged::Alien,
    }
}
