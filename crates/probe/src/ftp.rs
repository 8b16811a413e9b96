//! FTP (RFC 959): greeting 220, then SYST answered, or refused because nobody has logged in. It does not log in.

use crate::script::{Protocol, Turn, code};

/// The turns.
pub static FTP: Protocol = Protocol {
    name: "ftp",
    first: "",
    turns: &[
        Turn { awaits: "greeting", judge: |line| code(line, |code| code == 220), say: "SYST\r\n" },
        Turn {
            awaits: "answer to SYST",
            // 500 and 502: not known here; 530: log in first. The server speaks FTP and is at work.
            judge: |line| code(line, |code| matches!(code, 200..=299 | 500 | 502 | 530)),
            say: "QUIT\r\n",
        },
    ],
};
