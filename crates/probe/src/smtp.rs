//! SMTP (RFC 5321): greeting 220, then EHLO answered 250. It sends no mail and starts no TLS.

use crate::script::{ScriptProtocol, ScriptTurn, classify_code};

/// Replies 220 to the connection and 250 to EHLO (RFC 5321 §4.3.2).
pub static SMTP: ScriptProtocol = ScriptProtocol {
    name: "smtp",
    opening: "",
    turns: &[
        ScriptTurn {
            awaited: "greeting",
            classify: |line| classify_code(line, |code| code == 220),
            command: "EHLO steelyard.invalid\r\n",
        },
        ScriptTurn {
            awaited: "answer to EHLO",
            classify: |line| classify_code(line, |code| code == 250),
            command: "QUIT\r\n",
        },
    ],
};
