//! Advice for the results of flow samples, and the limits of what they can show, in sentences.

use crate::config::ForwardingMode;
use crate::limit::{Limit, TimeOwner};
use crate::time_attribution::advice;

pub fn advice_for(owner: Option<TimeOwner>, limit: Limit) -> &'static str {
    match limit {
        Limit::Connect => {
            "Opening connections takes long: look at the path, and at the server's queue of connections to accept."
        }
        _ => advice::advice(owner, limit),
    }
}

/// What samples cannot show for services with this forwarding method.
pub fn blind_spots(forward: ForwardingMode) -> &'static [&'static str] {
    match forward {
        ForwardingMode::Nat => {
            &["how long a server works on its answer, and what a program has to send"]
        }
        ForwardingMode::Mac | ForwardingMode::Tunnel => &[
            "the server's half: its SYN-ACKs, what it sends again, its windows and its resets go past",
            "which part of a handshake is the server's and which the client's: only the sum of both is seen",
            "whether the server agreed to scale windows: only windows that are small either way are counted",
            "how long a server works on its answer, and what a program has to send",
        ],
        ForwardingMode::Http | ForwardingMode::Tcp => &[],
    }
}
