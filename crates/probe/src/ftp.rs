//! FTP (RFC 959): greeting 220, then SYST answered, or refused because nobody has logged in. It does not log in.

use crate::script::{ScriptProtocol, ScriptTurn, classify_code};

pub static FTP: ScriptProtocol = ScriptProtocol {
    name: "ftp",
    opening: "",
    turns: &[
        ScriptTurn {
            awaited: "greeting",
            classify: |line| classify_code(line, |code| code == 220),
            command: "SYST\r\n",
        },
        ScriptTurn {
            awaited: "answer to SYST",
            // 500 and 502: command unknown; 530: log in first. In each case an FTP server works.
            classify: |line| {
                classify_code(line, |code| matches!(code, 200..=299 | 500 | 502 | 530))
            },
            command: "QUIT\r\n",
        },
    ],
};
