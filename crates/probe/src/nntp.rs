//! NNTP (RFC 3977 §5.1): greeting 200 or 201. It reads no news.

use crate::script::{Protocol, Turn, code};

/// The turn.
pub static NNTP: Protocol = Protocol {
    name: "nntp",
    first: "",
    turns: &[Turn {
        awaits: "greeting",
        judge: |line| code(line, |code| matches!(code, 200 | 201)),
        say: "QUIT\r\n",
    }],
};
