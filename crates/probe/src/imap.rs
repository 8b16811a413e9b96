//! IMAP4 (RFC 3501 §7.1): greeting OK or PREAUTH, then NOOP answered OK. It does not log in.

use crate::script::{ReplyKind, ScriptProtocol, ScriptTurn};

pub static IMAP: ScriptProtocol = ScriptProtocol {
    name: "imap",
    opening: "",
    turns: &[
        ScriptTurn { awaited: "greeting", classify: classify_greeting, command: "p1 NOOP\r\n" },
        ScriptTurn {
            awaited: "answer to NOOP",
            classify: classify_reply,
            command: "p2 LOGOUT\r\n",
        },
    ],
};

fn classify_greeting(line: &[u8]) -> ReplyKind {
    let Some(rest) = line.strip_prefix(b"* ") else { return ReplyKind::OtherProtocol };
    match first_word(rest).as_slice() {
        b"OK" | b"PREAUTH" => ReplyKind::Good,
        b"BYE" | b"BAD" | b"NO" => ReplyKind::NotReady,
        _ => ReplyKind::OtherProtocol,
    }
}

fn classify_reply(line: &[u8]) -> ReplyKind {
    if let Some(rest) = line.strip_prefix(b"* ") {
        // Untagged lines may come between; BYE means that the server closes.
        return if first_word(rest) == b"BYE" { ReplyKind::NotReady } else { ReplyKind::Continued };
    }
    let Some(rest) = line.strip_prefix(b"p1 ") else { return ReplyKind::OtherProtocol };
    if first_word(rest) == b"OK" { ReplyKind::Good } else { ReplyKind::NotReady }
}

fn first_word(text: &[u8]) -> Vec<u8> {
    text.split(|b| *b == b' ').next().unwrap_or_default().to_ascii_uppercase()
}
