//! What to change about what packets show, and what they cannot show from here, in sentences.

use crate::attribute::advice;
use crate::config::Forward;
use crate::limit::{Limit, Owner};

/// What to change.
pub fn advice_for(owner: Option<Owner>, limit: Limit) -> &'static str {
    match limit {
        Limit::Connect => {
            "Opening connections takes long: look at the path, and at the server's queue of connections to accept."
        }
        _ => advice::advice(owner, limit),
    }
}

/// What cannot be seen of services with this method.
pub fn unseen(forward: Forward) -> &'static [&'static str] {
    match forward {
        Forward::Nat => &["how long a server works on its answer, and what a program has to send"],
        Forward::Mac | Forward::Tunnel => &[
            "the server's half: its SYN-ACKs, what it sends again, its windows and its resets go past",
            "which part of a handshake is the server's and which the client's: only the sum of both is seen",
            "whether the server agreed to scale windows: only windows that are small either way are counted",
            "how long a server works on its answer, and what a program has to send",
        ],
        Forward::Http | Forward::Tcp => &[],
    }
}
