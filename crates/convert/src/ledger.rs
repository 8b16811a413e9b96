//! The account of a source file: each word of each statement, whether it was read, and what became of it.
//!
//! A reader enters statements and hands out their words; a writer settles them by what it writes, notes by what they
//! report. What nobody settled is found at the end, so a directive cannot be read and forgotten.

use std::cell::Cell;
use std::rc::Rc;

use crate::notes::{NoteKind, shorten};
use crate::source::{Source, SourceWords};

/// What became of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WordAccount {
    read: bool,
    /// Only an outcome of its own settles it.
    single: bool,
    outcome: Option<NoteKind>,
}

/// The words of a statement, shared by its copies.
#[derive(Clone, Debug, Default)]
pub struct WordAccounts(Rc<[Cell<WordAccount>]>);

impl WordAccounts {
    fn new(words: usize) -> WordAccounts {
        WordAccounts((0..words).map(|_| Cell::default()).collect())
    }

    fn change(&self, at: usize, change: impl Fn(&mut WordAccount)) {
        if let Some(cell) = self.0.get(at) {
            let mut account = cell.get();
            change(&mut account);
            cell.set(account);
        }
    }

    /// A word was looked at.
    pub fn mark_read(&self, at: usize) {
        self.change(at, |word| word.read = true);
    }

    /// From this word on, all were looked at.
    pub fn mark_read_from(&self, from: usize) {
        (from..self.0.len()).for_each(|at| self.mark_read(at));
    }

    /// Whether one of the words from this one on was looked at.
    pub fn is_read_from(&self, from: usize) -> bool {
        self.0.iter().skip(from).any(|word| word.get().read)
    }

    /// From this word on, each word needs an outcome of its own.
    pub fn account_singly(&self, from: usize) {
        (from..self.0.len()).for_each(|at| self.change(at, |word| word.single = true));
    }

    /// Whether each word has an outcome.
    pub fn is_settled(&self) -> bool {
        self.outcomes().all(|outcome| outcome.is_some())
    }

    /// Says what became of words.
    pub fn settle(&self, words: SourceWords, outcome: NoteKind) {
        let range = match words {
            SourceWords::Range(from, to) => usize::from(from)..usize::from(to).min(self.0.len()),
            _ => 0..self.0.len(),
        };
        for at in range {
            self.change(at, |word| {
                let meant = words != SourceWords::Read || word.read && !word.single;
                // What is reported of a statement covers words that nobody looked at.
                let meant = meant || outcome != NoteKind::Converted && !word.single;
                // The worst that became of it counts: NoteKind is in this order.
                if meant {
                    word.outcome = Some(word.outcome.map_or(outcome, |known| known.min(outcome)));
                }
            });
        }
    }

    /// Whether the first word is settled, and nobody looked at those that are not.
    fn has_unknown_rest(&self) -> bool {
        let first = self.0.first().is_some_and(|word| word.get().outcome.is_some());
        first && self.0.iter().all(|word| word.get().outcome.is_some() || !word.get().read)
    }

    fn outcomes(&self) -> impl Iterator<Item = Option<NoteKind>> {
        self.0.iter().map(|word| word.get().outcome)
    }
}

/// A statement as it was entered.
#[derive(Debug)]
struct StatementAccount {
    line: u32,
    text: String,
    words: WordAccounts,
    /// The place of the block that it is in, counted from 1; 0: none.
    parent: u32,
    /// What was reported of the statement and all that is in its block.
    covers: Cell<Option<NoteKind>>,
}

/// All statements of a file.
#[derive(Debug, Default)]
pub struct Ledger {
    statements: Vec<StatementAccount>,
}

/// A statement of which a word has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledStatement {
    pub source: Source,
    pub text: String,
    /// How many of its words.
    pub words: usize,
    /// The rest of it is settled, and nobody looked at these words: they are not known there.
    pub is_unknown_rest: bool,
}

impl Ledger {
    /// Enters a statement with this many words; `text` is for messages.
    pub fn enter(&mut self, line: u32, text: &str, words: usize) -> (Source, WordAccounts) {
        let accounts = WordAccounts::new(words);
        let text = shorten(text);
        let covers = Cell::new(None);
        let words = accounts.clone();
        self.statements.push(StatementAccount { line, text, words, parent: 0, covers });
        let place = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
        (Source::new(line, place), accounts)
    }

    /// How many statements were entered.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// The statements from this place up to another are in the block of one.
    pub fn adopt(&mut self, from: usize, to: usize, block: Source) {
        let parent = block.statement().map_or(0, |at| at as u32 + 1);
        let inner = self.statements.get_mut(from..to).into_iter().flatten();
        inner.filter(|one| one.parent == 0).for_each(|one| one.parent = parent);
    }

    /// Says what became of words.
    pub fn settle(&self, source: Source, outcome: NoteKind) {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        if let Some(statement) = statement {
            statement.words.settle(source.words(), outcome);
            if matches!(outcome, NoteKind::LeftOut | NoteKind::NotNeeded) {
                statement.covers.set(Some(outcome));
            }
        }
    }

    /// Whether each word of a statement has an outcome.
    pub fn is_settled(&self, source: Source) -> bool {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        statement.is_none_or(|statement| statement.words.is_settled())
    }

    /// Whether a block that it is in was left out or is not needed.
    fn is_covered(&self, statement: &StatementAccount) -> bool {
        let mut parent = statement.parent;
        while let Some(block) = self.statements.get((parent as usize).wrapping_sub(1)) {
            if block.covers.get().is_some() {
                return true;
            }
            // A block is entered before or after what is in it, and never in itself.
            if block.parent == parent {
                break;
            }
            parent = block.parent;
        }
        false
    }

    /// The statements that are not settled.
    pub fn unsettled(&self) -> Vec<UnsettledStatement> {
        let each = self.statements.iter().zip(1u32..).filter_map(|(statement, place)| {
            let words = statement.words.outcomes().filter(Option::is_none).count();
            let left = UnsettledStatement {
                source: Source::new(statement.line, place).whole(),
                text: statement.text.clone(),
                words,
                is_unknown_rest: statement.words.has_unknown_rest(),
            };
            (words > 0 && !self.is_covered(statement)).then_some(left)
        });
        each.collect()
    }

    /// The text of a statement.
    pub fn text(&self, source: Source) -> &str {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        statement.map_or("", |statement| statement.text.as_str())
    }

    /// The statements of which a word was carried over, in their order.
    pub fn converted(&self) -> impl Iterator<Item = Source> {
        self.statements.iter().zip(1u32..).filter_map(|(statement, place)| {
            let any = statement.words.outcomes().any(|one| one == Some(NoteKind::Converted));
            any.then(|| Source::new(statement.line, place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_read_and_forgotten_is_found() {
        let mut ledger = Ledger::default();
        let (bind, words) = ledger.enter(3, "bind :80 mss 1400", 4);
        words.mark_read(0);
        words.mark_read(1);
        ledger.settle(bind, NoteKind::Converted);
        let left = ledger.unsettled();
        assert_eq!((left[0].source.line(), left[0].words), (3, 2), "nobody read `mss 1400`");
        words.mark_read_from(2);
        ledger.settle(bind, NoteKind::Converted);
        assert_eq!(ledger.unsettled(), []);
    }

    #[test]
    fn words_that_need_an_outcome_of_their_own_are_not_covered_by_the_line() {
        let mut ledger = Ledger::default();
        let (server, words) = ledger.enter(1, "server a b:1 weight 3 check", 6);
        words.mark_read_from(0);
        words.account_singly(3);
        ledger.settle(server, NoteKind::Converted);
        assert_eq!(ledger.unsettled()[0].words, 3);
        ledger.settle(server.range(3, 5), NoteKind::Converted);
        ledger.settle(server.range(5, 6), NoteKind::NotNeeded);
        assert_eq!(ledger.unsettled(), []);
        ledger.settle(server.whole(), NoteKind::LeftOut);
        assert_eq!(ledger.converted().count(), 0, "the worst outcome counts");
    }
}
