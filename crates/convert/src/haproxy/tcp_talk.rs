//! The talk of a `tcp-check` with a server, as what a probe sends and expects.

use crate::condition::escape_regex;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;

/// What is sent and expected in turn. What begins with `send` is sent at once and its answers are looked for in their
/// order, as servers of such protocols answer requests one by one. After a greeting only one answer is looked for.
#[derive(Debug, Default)]
pub struct TcpTalk {
    sent: String,
    expected: Vec<String>,
    /// Lines after the first turn.
    joined: Vec<ConfigLine>,
}

impl TcpTalk {
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty() && self.expected.is_empty()
    }

    /// Adds a line.
    ///
    /// # Errors
    /// A probe does not talk so.
    pub fn add(&mut self, line: &ConfigLine) -> Result<(), UnsupportedReason> {
        let refused = || {
            UnsupportedReason::new(
                "a check connects once, sends once and expects once",
                "`probe = { program = … }` for a longer talk",
            )
        };
        let words = without_comments(line.rest(2));
        let text = |from: usize| words.get(from..).unwrap_or_default().join(" ");
        let begins = self.sent.is_empty() && self.expected.is_empty();
        match (line.word(1), words.first().map_or("", |word| word.as_str())) {
            ("send", _) if begins || !self.sent.is_empty() => {
                let sent = text(0).replace("\\r", "\r").replace("\\n", "\n");
                if !self.expected.is_empty() {
                    self.joined.push(line.clone());
                }
                self.sent.push_str(&sent);
            }
            ("expect", "string") if self.expects() => self.expected.push(escape_regex(&text(1))),
            ("expect", "rstring") if self.expects() => self.expected.push(text(1)),
            _ => return Err(refused()),
        }
        line.mark_converted();
        Ok(())
    }

    /// Whether a further answer can be looked for.
    fn expects(&self) -> bool {
        self.expected.is_empty() || !self.sent.is_empty()
    }

    /// The keys of the probe.
    pub fn into_keys(self, notes: &mut ConversionNotes) -> Vec<KeyValue> {
        let mut keys = Vec::new();
        if !self.sent.is_empty() {
            keys.push(KeyValue::new("send", value::quote(&self.sent)));
        }
        match &self.expected[..] {
            [] => {}
            [one] => keys.push(KeyValue::new("expect", value::quote(one))),
            all => {
                let joined = format!("(?s){}", all.join(".*"));
                keys.push(KeyValue::new("expect", value::quote(&joined)));
            }
        }
        if let Some(line) = self.joined.first() {
            let reason = "all that a check sends is sent at once, and the answers are looked for in their order";
            notes.changed(line.source, &line.text(), reason, "");
        }
        keys
    }
}

/// The words of a check without those that only its log has: `comment` with a text.
pub fn without_comments(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "comment" => {
                words.next();
            }
            _ => kept.push(word.clone()),
        }
    }
    kept
}
