//! POP3 (RFC 1939): greeting +OK. It does not log in.

use crate::script::{ReplyKind, ScriptProtocol, ScriptTurn};

pub static POP3: ScriptProtocol = ScriptProtocol {
    name: "pop3",
    opening: "",
    turns: &[ScriptTurn { awaited: "greeting", classify: classify_reply, command: "QUIT\r\n" }],
};

fn classify_reply(line: &[u8]) -> ReplyKind {
    let word = line.split(|b| *b == b' ').next().unwrap_or_default();
    match word {
        b"+OK" => ReplyKind::Good,
        b"-ERR" => ReplyKind::NotReady,
        _ => ReplyKind::OtherProtocol,
    }
}
