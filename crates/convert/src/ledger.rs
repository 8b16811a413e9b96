//! The account of a source file: each word of each statement, whether the converter read it, and its outcome.
//!
//! A parser enters statements and marks their words as read. Written entries and notes settle words. The end of a
//! conversion reports unsettled words, so no directive is read and then lost.

use std::cell::Cell;
use std::rc::Rc;

use crate::note_kind::NoteKind;
use crate::shorten::shorten;
use crate::source::{SourcePlace, SourceWords};

/// The state of one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct WordAccount {
    read: bool,
    /// Only an outcome for this very word settles it, not an outcome for the statement.
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

    /// Marks a word as read.
    pub fn mark_read(&self, at: usize) {
        self.change(at, |word| word.read = true);
    }

    /// Marks all words from this position on as read.
    pub fn mark_read_from(&self, from: usize) {
        (from..self.0.len()).for_each(|at| self.mark_read(at));
    }

    /// Whether any word from this position on was read.
    pub fn is_read_from(&self, from: usize) -> bool {
        self.0.iter().skip(from).any(|word| word.get().read)
    }

    /// Each word from this position on needs its own outcome.
    pub fn account_singly(&self, from: usize) {
        (from..self.0.len()).for_each(|at| self.change(at, |word| word.single = true));
    }

    /// Whether each word has an outcome.
    pub fn is_settled(&self) -> bool {
        self.outcomes().all(|outcome| outcome.is_some())
    }

    /// Sets the outcome of words.
    pub fn settle(&self, words: SourceWords, outcome: NoteKind) {
        let range = match words {
            SourceWords::Range(from, to) => usize::from(from)..usize::from(to).min(self.0.len()),
            _ => 0..self.0.len(),
        };
        for at in range {
            self.change(at, |word| {
                let meant = words != SourceWords::Read || word.read && !word.single;
                // A note about a statement also covers the words that were not read.
                let meant = meant || outcome != NoteKind::Converted && !word.single;
                // The worst outcome counts; NoteKind is ordered from worst to best.
                if meant {
                    word.outcome = Some(word.outcome.map_or(outcome, |known| known.min(outcome)));
                }
            });
        }
    }

    /// Whether the first word is settled, and none of the unsettled words was read.
    fn has_unknown_rest(&self) -> bool {
        let first = self.0.first().is_some_and(|word| word.get().outcome.is_some());
        first && self.0.iter().all(|word| word.get().outcome.is_some() || !word.get().read)
    }

    fn outcomes(&self) -> impl Iterator<Item = Option<NoteKind>> {
        self.0.iter().map(|word| word.get().outcome)
    }
}

/// A statement with its words.
#[derive(Debug)]
struct StatementAccount {
    line: u32,
    text: String,
    words: WordAccounts,
    /// The place of the enclosing block, counted from 1; 0 means none.
    parent: u32,
    /// The outcome that covers the statement and everything in its block.
    covers: Cell<Option<NoteKind>>,
}

/// All statements of a source file.
#[derive(Debug, Default)]
pub struct Ledger {
    statements: Vec<StatementAccount>,
}

/// The source of a new statement's words, and their accounts.
#[derive(Debug)]
pub struct EnteredStatement {
    pub source: SourcePlace,
    pub accounts: WordAccounts,
}

/// A statement with at least one word that has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsettledStatement {
    pub source: SourcePlace,
    pub text: String,
    /// The number of words without an outcome.
    pub words: usize,
    /// The first word is settled and none of these words was read: the converter does not know them.
    pub is_unknown_rest: bool,
}

impl Ledger {
    /// Enters a statement with this many words. `text` is for messages.
    pub fn enter(&mut self, line: u32, text: &str, words: usize) -> EnteredStatement {
        let accounts = WordAccounts::new(words);
        let text = shorten(text);
        let covers = Cell::new(None);
        let words = accounts.clone();
        self.statements.push(StatementAccount { line, text, words, parent: 0, covers });
        let place = u32::try_from(self.statements.len()).unwrap_or(u32::MAX);
        EnteredStatement { source: SourcePlace::new(line, place), accounts }
    }

    /// The number of statements.
    pub fn len(&self) -> usize {
        self.statements.len()
    }

    /// Makes `block` the parent of the statements from `from` up to `to` that have no parent yet.
    pub fn adopt(&mut self, from: usize, to: usize, block: SourcePlace) {
        let parent = block.statement().map_or(0, |at| at as u32 + 1);
        let inner = self.statements.get_mut(from..to).into_iter().flatten();
        inner.filter(|one| one.parent == 0).for_each(|one| one.parent = parent);
    }

    /// Sets the outcome of words.
    pub fn settle(&self, source: SourcePlace, outcome: NoteKind) {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        if let Some(statement) = statement {
            statement.words.settle(source.words(), outcome);
            if matches!(outcome, NoteKind::LeftOut | NoteKind::NotNeeded) {
                statement.covers.set(Some(outcome));
            }
        }
    }

    /// Whether each word of a statement has an outcome.
    pub fn is_settled(&self, source: SourcePlace) -> bool {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        statement.is_none_or(|statement| statement.words.is_settled())
    }

    /// Whether a block was left out or is not needed, with everything in it.
    pub fn covers_block(&self, source: SourcePlace) -> bool {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        statement.is_some_and(|statement| statement.covers.get().is_some())
    }

    /// Whether an enclosing block was left out or is not needed.
    fn is_covered(&self, statement: &StatementAccount) -> bool {
        let mut parent = statement.parent;
        while let Some(block) = self.statements.get((parent as usize).wrapping_sub(1)) {
            if block.covers.get().is_some() {
                return true;
            }
            // A block that is its own parent would loop forever.
            if block.parent == parent {
                break;
            }
            parent = block.parent;
        }
        false
    }

    /// The statements with unsettled words, except those in a covered block.
    pub fn unsettled(&self) -> Vec<UnsettledStatement> {
        let each = self.statements.iter().zip(1u32..).filter_map(|(statement, place)| {
            let words = statement.words.outcomes().filter(Option::is_none).count();
            let left = UnsettledStatement {
                source: SourcePlace::new(statement.line, place).whole(),
                text: statement.text.clone(),
                words,
                is_unknown_rest: statement.words.has_unknown_rest(),
            };
            (words > 0 && !self.is_covered(statement)).then_some(left)
        });
        each.collect()
    }

    /// The text of a statement.
    pub fn text(&self, source: SourcePlace) -> &str {
        let statement = source.statement().and_then(|at| self.statements.get(at));
        statement.map_or("", |statement| statement.text.as_str())
    }

    /// The statements with at least one converted word, in their order.
    pub fn converted(&self) -> impl Iterator<Item = SourcePlace> {
        self.statements.iter().zip(1u32..).filter_map(|(statement, place)| {
            let any = statement.words.outcomes().any(|one| one == Some(NoteKind::Converted));
            any.then(|| SourcePlace::new(statement.line, place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_read_and_forgotten_is_found() {
        let mut ledger = Ledger::default();
        let EnteredStatement { source: bind, accounts: words } =
            ledger.enter(3, "bind :80 mss 1400", 4);
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
        let EnteredStatement { source: server, accounts: words } =
            ledger.enter(1, "server a b:1 weight 3 check", 6);
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
