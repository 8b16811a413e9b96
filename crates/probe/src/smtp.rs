//! SMTP (RFC 5321): greeting 220, then EHLO answered 250. It sends no mail and starts no TLS.

use crate::script::{Protocol, Turn, code};

/// The turns.
pub static SMTP: Protocol = Protocol {
    name: "smtp",
    first: "",
    turns: &[
        Turn {
            awaits: "greeting",
            judge: |line| code(line, |code| code == 220),
            say: "EHLO steelyard.invalid\r\n",
        },
        Turn {
            awaits: "answer to EHLO",
            judge: |line| code(line, |code| code == 250),
            say: "QUIT\r\n",
        },
    ],
};
