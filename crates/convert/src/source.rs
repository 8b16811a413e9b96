//! Where something that is written came from: words of one directive or line of the source file.

/// Words of one statement of the source file. A statement is a line, or a directive of a block grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// From 1; 0: the whole file, or nothing of it.
    line: u32,
    /// Its place in the ledger, counted from 1; 0: none.
    statement: u32,
    words: SourceWords,
}

/// Which words of a statement are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceWords {
    /// All that were read, except those which are accounted for one by one.
    #[default]
    Read,
    /// All of them: the statement as a whole.
    Whole,
    /// A keyword and its values: from the first word, up to the second one.
    Range(u16, u16),
}

impl Source {
    /// Of no statement: the converter's own.
    pub const NONE: Source = Source { line: 0, statement: 0, words: SourceWords::Whole };

    /// The words of a statement that were read.
    pub fn new(line: u32, statement: u32) -> Source {
        Source { line, statement, words: SourceWords::Read }
    }

    /// A line that has no statement: damage of the file.
    pub fn at_line(line: u32) -> Source {
        Source { line, ..Source::NONE }
    }

    /// The whole statement.
    pub fn whole(self) -> Source {
        Source { words: SourceWords::Whole, ..self }
    }

    /// Words of it, from one up to another.
    pub fn range(self, from: usize, to: usize) -> Source {
        let bound = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Source { words: SourceWords::Range(bound(from), bound(to)), ..self }
    }

    pub fn line(self) -> u32 {
        self.line
    }

    /// Its place in the ledger; `None`: it has no statement.
    pub fn statement(self) -> Option<usize> {
        (self.statement as usize).checked_sub(1)
    }

    pub fn words(self) -> SourceWords {
        self.words
    }
}
