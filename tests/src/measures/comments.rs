//! Documentation comments that are too short to say more than the name.

use std::collections::BTreeMap;

use crate::measures::thousandths;
use crate::tree::SourceFile;

/// The words that a documentation comment needs at least.
const WORDS: usize = 4;

/// The share of short comments, in thousandths.
pub fn measure(files: &[&SourceFile]) -> BTreeMap<String, usize> {
    let mut all = 0;
    let mut short = 0;
    for words in files.iter().flat_map(|file| lengths(&file.text)) {
        all += 1;
        short += usize::from(words < WORDS);
    }
    BTreeMap::from([("doc-comments-of-three-words".to_owned(), thousandths(short, all))])
}

/// The number of words in each documentation comment.
fn lengths(text: &str) -> Vec<usize> {
    let mut out = Vec::new();
    let mut open: Option<usize> = None;
    for line in text.lines() {
        match line.trim_start().strip_prefix("///") {
            Some(said) => *open.get_or_insert(0) += said.split_whitespace().count(),
            None => out.extend(open.take()),
        }
    }
    out.extend(open);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_counted_with_all_their_lines() {
        assert_eq!(
            lengths("/// A pool.\nstruct A;\n/// One\n/// of four words.\nstruct B;"),
            [2, 4]
        );
    }
}
