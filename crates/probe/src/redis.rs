//! Redis (RESP): PONG as the reply to PING, or a demand for a password, proves a working server. A server that loads
//! its data set, lost its primary or runs a script fails the check. The check reads and writes no data.

use crate::script::{ReplyKind, ScriptProtocol, ScriptTurn};

pub static REDIS: ScriptProtocol = ScriptProtocol {
    name: "redis",
    opening: "*1\r\n$4\r\nPING\r\n",
    turns: &[ScriptTurn { awaited: "answer to PING", classify: classify_reply, command: "" }],
};

fn classify_reply(line: &[u8]) -> ReplyKind {
    let word = line.split(|b| *b == b' ').next().unwrap_or_default();
    match word {
        b"+PONG" | b"-NOAUTH" | b"-NOPERM" => ReplyKind::Good,
        _ if word.first() == Some(&b'-') => ReplyKind::NotReady,
        _ => ReplyKind::OtherProtocol,
    }
}
