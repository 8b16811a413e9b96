//! Redis (RESP): PING answered PONG, or a password asked for, which a server at work does. Not while it loads its data
//! set, lost its primary or runs a script. It sets and reads nothing.

use crate::script::{Judged, Protocol, Turn};

/// The turn.
pub static REDIS: Protocol = Protocol {
    name: "redis",
    first: "*1\r\n$4\r\nPING\r\n",
    turns: &[Turn { awaits: "answer to PING", judge, say: "" }],
};

fn judge(line: &[u8]) -> Judged {
    let word = line.split(|b| *b == b' ').next().unwrap_or_default();
    match word {
        b"+PONG" | b"-NOAUTH" | b"-NOPERM" => Judged::Good,
        _ if word.first() == Some(&b'-') => Judged::NotReady,
        _ => Judged::Alien,
    }
}
