//! NNTP (RFC 3977 §5.1): greeting 200 or 201. It reads no news.

use crate::script::{ScriptProtocol, ScriptTurn, classify_code};

/// Greetings 200 and 201: posting allowed or prohibited (RFC 3977 §5.1.1).
pub static NNTP: ScriptProtocol = ScriptProtocol {
    name: "nntp",
    opening: "",
    turns: &[ScriptTurn {
        awaited: "greeting",
        classify: |line| classify_code(line, |code| matches!(code, 200 | 201)),
        command: "QUIT\r\n",
    }],
};
