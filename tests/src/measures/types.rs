//! Type names that consist of one word, are not nouns, or belong to more than one type.

use std::collections::BTreeMap;

use crate::measures::{nouns, thousandths};
use crate::tree::SourceFile;

/// Names that have the same meaning in every crate.
const IDIOMS: [&str; 4] = ["Error", "Config", "State", "Args"];

/// Shares of all types, in thousandths.
pub fn measure(files: &[&SourceFile]) -> BTreeMap<String, usize> {
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    for name in files.iter().flat_map(|file| declared(file)) {
        *names.entry(name).or_default() += 1;
    }
    let all: usize = names.values().sum();
    let share = |fits: &dyn Fn(&str, usize) -> bool| {
        let count = names.iter().filter(|(name, count)| fits(name, **count)).map(|(_, n)| n).sum();
        thousandths(count, all)
    };
    BTreeMap::from([
        ("types-of-one-word".to_owned(), share(&|name, _| words(name).len() < 2)),
        ("types-not-nouns".to_owned(), share(&|name, _| !nouns::is_noun(&words(name)))),
        (
            "types-named-twice".to_owned(),
            share(&|name, count| count > 1 && !IDIOMS.contains(&name)),
        ),
    ])
}

/// Structs, enums and traits of a file.
fn declared(file: &SourceFile) -> Vec<String> {
    let tokens = file.product_tokens();
    let pairs = tokens.windows(2);
    let kinds = ["struct", "enum", "trait"];
    let named = pairs.filter(|pair| kinds.contains(&pair[0].text) && pair[1].is_word());
    named.map(|pair| pair[1].text.to_owned()).collect()
}

/// The words of a camel-case name; a run of capitals is one word.
pub fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut out: Vec<String> = Vec::new();
    for (at, letter) in letters.iter().enumerate() {
        let after_small = at > 0 && !letters[at - 1].is_uppercase();
        if out.is_empty() || (letter.is_uppercase() && after_small) {
            out.push(String::new());
        }
        if let Some(word) = out.last_mut() {
            word.push(*letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::SourceTree;

    #[test]
    fn names_are_taken_apart_and_counted() {
        assert_eq!(words("WeightController"), ["Weight", "Controller"]);
        assert_eq!(words("IPv4"), ["IPv4"]);
        let text = "struct Told; enum WeightController {} trait Error {} struct Pool;\n\
                    #[cfg(test)] mod tests { struct Asked; }";
        let tree = SourceTree::from_files(&[
            ("crates/x/src/a.rs", text),
            ("crates/x/src/b.rs", "struct Error; struct Pool;"),
        ]);
        let files: Vec<&SourceFile> = tree.files.iter().collect();
        let found = measure(&files);
        assert_eq!(found["types-of-one-word"], 834, "five of six");
        assert_eq!(found["types-not-nouns"], 167, "one of six");
        assert_eq!(found["types-named-twice"], 334, "two of six: errors are called so");
    }
}
