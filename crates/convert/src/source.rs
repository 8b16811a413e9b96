//! The origin of an output entry: words of one directive or line of the source file.

/// Words of one statement of the source file. A statement is a line, or a directive of a block grammar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourcePlace {
    /// The line from 1; 0 means the whole file or no line.
    line: u32,
    /// The statement's place in the ledger, counted from 1; 0 means none.
    statement: u32,
    words: SourceWords,
}

/// The words of a statement that a source refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceWords {
    /// All words that were read, except those that need their own outcome.
    #[default]
    Read,
    /// The whole statement.
    Whole,
    /// A keyword and its values: from the first position up to the second.
    Range(u16, u16),
}

impl SourcePlace {
    /// The source of entries that the converter adds itself.
    pub const NONE: SourcePlace = SourcePlace { line: 0, statement: 0, words: SourceWords::Whole };

    /// The words of a statement that were read.
    pub fn new(line: u32, statement: u32) -> SourcePlace {
        SourcePlace { line, statement, words: SourceWords::Read }
    }

    /// A line without a statement, where the file is damaged.
    pub fn at_line(line: u32) -> SourcePlace {
        SourcePlace { line, ..SourcePlace::NONE }
    }

    /// The whole statement.
    pub fn whole(self) -> SourcePlace {
        SourcePlace { words: SourceWords::Whole, ..self }
    }

    /// The words of the statement from one position up to another.
    pub fn range(self, from: usize, to: usize) -> SourcePlace {
        let bound = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        SourcePlace { words: SourceWords::Range(bound(from), bound(to)), ..self }
    }

    pub fn line(self) -> u32 {
        self.line
    }

    /// The statement's index in the ledger. `None` if there is no statement.
    pub fn statement(self) -> Option<usize> {
        (self.statement as usize).checked_sub(1)
    }

    pub fn words(self) -> SourceWords {
        self.words
    }
}
