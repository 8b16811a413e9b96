//! A directive of a grammar with blocks: its words, its block and its place in the account.

use crate::ledger::{Ledger, WordAccounts};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// A directive, simple or with a block. Its words are settled with the whole directive.
#[derive(Clone, Debug, Default)]
pub struct ConfigStatement {
    pub name: String,
    /// The name as it is written, where letter case does not count; else empty.
    written: String,
    args: Vec<String>,
    pub block: Option<Vec<ConfigStatement>>,
    pub source: SourcePlace,
    accounts: WordAccounts,
}

impl ConfigStatement {
    /// Creates a directive whose name is compared in small letters, and enters it into the ledger.
    pub fn enter_any_case(
        written: String,
        args: Vec<String>,
        line: u32,
        ledger: &mut Ledger,
    ) -> ConfigStatement {
        let name = written.to_ascii_lowercase();
        ConfigStatement { name, written, args, ..ConfigStatement::default() }.entered(line, ledger)
    }

    /// Creates the directive and enters it into the ledger.
    pub fn enter(
        name: String,
        args: Vec<String>,
        line: u32,
        ledger: &mut Ledger,
    ) -> ConfigStatement {
        ConfigStatement { name, args, ..ConfigStatement::default() }.entered(line, ledger)
    }

    fn entered(mut self, line: u32, ledger: &mut Ledger) -> ConfigStatement {
        let entered = ledger.enter(line, &self.text(), self.args.len() + 1);
        self.source = entered.source;
        self.accounts = entered.accounts;
        self.accounts.mark_read(0);
        self
    }

    /// An argument by its position, or an empty string.
    pub fn word(&self, at: usize) -> &str {
        self.accounts.mark_read(at + 1);
        self.peek(at)
    }

    /// An argument by its position, or an empty string. The argument does not count as read.
    pub fn peek(&self, at: usize) -> &str {
        self.args.get(at).map_or("", String::as_str)
    }

    /// The number of arguments.
    pub fn count(&self) -> usize {
        self.args.len()
    }

    /// All arguments from this position on. They count as read.
    pub fn words_from(&self, from: usize) -> &[String] {
        self.accounts.mark_read_from(from + 1);
        self.args.get(from..).unwrap_or(&[])
    }

    /// The directives in its block.
    pub fn inner(&self) -> &[ConfigStatement] {
        self.block.as_deref().unwrap_or(&[])
    }

    /// The first directive of this name in its block.
    pub fn find(&self, name: &str) -> Option<&ConfigStatement> {
        self.inner().iter().find(|one| one.name == name)
    }

    /// Whether each word has an outcome.
    pub fn is_settled(&self) -> bool {
        self.accounts.is_settled()
    }

    /// The line without its block, for messages.
    pub fn text(&self) -> String {
        let name = if self.written.is_empty() { &self.name } else { &self.written };
        let mut text = name.clone();
        for arg in &self.args {
            text.push(' ');
            text.push_str(arg);
        }
        text
    }

    /// Settles the words that were read as converted.
    pub fn settle_converted(&self, notes: &mut ConversionNotes) {
        notes.converted(self.source);
    }

    /// Reports the directive, with its block, as left out.
    pub fn leave_out(&self, reason: &str, instead: &str, notes: &mut ConversionNotes) {
        notes.left_out(self.source, &self.text(), reason, instead);
    }

    /// Reports the directive as changed.
    pub fn note_changed(&self, reason: &str, instead: &str, notes: &mut ConversionNotes) {
        notes.changed(self.source, &self.text(), reason, instead);
    }

    /// Reports the directive, with its block, as not needed.
    pub fn note_not_needed(&self, reason: &str, notes: &mut ConversionNotes) {
        notes.not_needed(self.source, &self.text(), reason);
    }
}
