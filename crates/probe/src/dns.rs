//! DNS over UDP (RFC 1035 §4.1): one question, answered without error and with a record. It follows no delegation.

use crate::dialogue::{Dialogue, Step};

const HEADER: usize = 12;
const QR: u16 = 0x8000;
const TC: u16 = 0x0200;
const RD: u16 = 0x0100;

/// A dialogue under way.
#[derive(Debug)]
pub struct Dns {
    id: u16,
    name: String,
    question: Vec<u8>,
}

impl Dns {
    /// Asks for this name's records of a type.
    pub fn new(name: &str, record: u16, id: u16) -> Dns {
        let mut question = Vec::new();
        for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
            let label = &label.as_bytes()[..label.len().min(63)];
            question.push(label.len() as u8);
            question.extend_from_slice(label);
        }
        question.push(0);
        question.extend(record.to_be_bytes());
        // IN.
        question.extend(1u16.to_be_bytes());
        Dns { id, name: name.to_owned(), question }
    }
}

impl Dialogue for Dns {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        for word in [self.id, RD, 1, 0, 0, 0] {
            out.extend(word.to_be_bytes());
        }
        out.extend_from_slice(&self.question);
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let word =
            |at: usize| bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        let (Some(id), Some(flags), Some(answers)) = (word(0), word(2), word(6)) else {
            return Step::bad(format!("the answer is not DNS: {} bytes", bytes.len()));
        };
        if id != self.id {
            // Somebody else's: ours may still come.
            return Step::Wait;
        }
        let echoed = bytes.get(HEADER..HEADER + self.question.len());
        let same = echoed.is_some_and(|echoed| echoed.eq_ignore_ascii_case(&self.question));
        let Dns { name, .. } = self;
        if flags & QR == 0 || (word(4) == Some(1) && !same) {
            return Step::bad("the answer is not DNS: not an answer to the question");
        }
        match (flags & 0xf, answers) {
            (0, 0) if flags & TC == 0 => Step::bad(format!("dns {name}: no such record")),
            (0, _) => Step::good(format!("dns {name}: {answers} records")),
            (code, _) => Step::bad(format!("dns {name}: {}", error(code))),
        }
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}

/// Response codes (RFC 1035 §4.1.1).
fn error(code: u16) -> String {
    match code {
        1 => "the server could not read the question",
        2 => "the server failed",
        3 => "no such name",
        4 => "the server does not answer such questions",
        5 => "the server refuses to answer",
        other => return format!("response code {other}"),
    }
    .to_owned()
}
