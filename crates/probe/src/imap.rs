//! IMAP4 (RFC 3501 §7.1): greeting OK or PREAUTH, then NOOP answered OK. It does not log in.

use crate::script::{Judged, Protocol, Turn};

/// The turns.
pub static IMAP: Protocol = Protocol {
    name: "imap",
    first: "",
    turns: &[
        Turn { awaits: "greeting", judge: greeting, say: "p1 NOOP\r\n" },
        Turn { awaits: "answer to NOOP", judge: answer, say: "p2 LOGOUT\r\n" },
    ],
};

fn greeting(line: &[u8]) -> Judged {
    let Some(rest) = line.strip_prefix(b"* ") else { return Judged::Alien };
    match word(rest).as_slice() {
        b"OK" | b"PREAUTH" => Judged::Good,
        b"BYE" | b"BAD" | b"NO" => Judged::NotReady,
        _ => Judged::Alien,
    }
}

fn answer(line: &[u8]) -> Judged {
    if let Some(rest) = line.strip_prefix(b"* ") {
        // Untagged data may come between; BYE says that the server goes.
        return if word(rest) == b"BYE" { Judged::NotReady } else { Judged::More };
    }
    let Some(rest) = line.strip_prefix(b"p1 ") else { return Judged::Alien };
    if word(rest) == b"OK" { Judged::Good } else { Judged::NotReady }
}

fn word(text: &[u8]) -> Vec<u8> {
    text.split(|b| *b == b' ').next().unwrap_or_default().to_ascii_uppercase()
}
