//! DNS over UDP (RFC 1035 §4.1): one question, answered without error and with a record. It follows no delegation.

use crate::dialogue::{DialogueStep, ProbeDialogue};

/// The header of a message and flags in its second word: response, truncated, recursion desired (RFC 1035 §4.1.1).
const HEADER: usize = 12;
const QR: u16 = 0x8000;
const TC: u16 = 0x0200;
const RD: u16 = 0x0100;

#[derive(Debug)]
pub struct DnsProbe {
    id: u16,
    name: String,
    question: Vec<u8>,
}

impl DnsProbe {
    /// A query for records of this type.
    pub fn new(name: &str, record: u16, id: u16) -> DnsProbe {
        let mut question = Vec::new();
        for label in name.trim_end_matches('.').split('.').filter(|label| !label.is_empty()) {
            // The longest label (RFC 1035 §2.3.4).
            let label = &label.as_bytes()[..label.len().min(63)];
            question.push(label.len() as u8);
            question.extend_from_slice(label);
        }
        question.push(0);
        question.extend(record.to_be_bytes());
        // Class IN.
        question.extend(1u16.to_be_bytes());
        DnsProbe { id, name: name.to_owned(), question }
    }
}

impl ProbeDialogue for DnsProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        for word in [self.id, RD, 1, 0, 0, 0] {
            out.extend(word.to_be_bytes());
        }
        out.extend_from_slice(&self.question);
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let word =
            |at: usize| bytes.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        let (Some(id), Some(flags), Some(answers)) = (word(0), word(2), word(6)) else {
            return DialogueStep::failure(format!("the answer is not DNS: {} bytes", bytes.len()));
        };
        if id != self.id {
            // A reply to another query: ours may still arrive.
            return DialogueStep::Wait;
        }
        let echoed = bytes.get(HEADER..HEADER + self.question.len());
        let same = echoed.is_some_and(|echoed| echoed.eq_ignore_ascii_case(&self.question));
        let DnsProbe { name, .. } = self;
        if flags & QR == 0 || (word(4) == Some(1) && !same) {
            return DialogueStep::failure("the answer is not DNS: not an answer to the question");
        }
        match (flags & 0xf, answers) {
            (0, 0) if flags & TC == 0 => {
                DialogueStep::failure(format!("dns {name}: no such record"))
            }
            (0, _) => DialogueStep::success(format!("dns {name}: {answers} records")),
            (code, _) => DialogueStep::failure(format!("dns {name}: {}", describe_code(code))),
        }
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}

/// Response codes (RFC 1035 §4.1.1).
fn describe_code(code: u16) -> String {
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
