//! Every counter counts something: each counter, cause and defect has a user outside the file that lists it.
//!
//! By name in product code. Whether it is counted at the right moment is for the tests of what it counts.

use crate::lexer::{Token, closing, spells};
use crate::tree::{File, Offence, Tree};

/// A file whose names must have users.
struct List {
    path: &'static str,
    /// The macro whose body lists the names as `name = …`, or the enum whose variants they are.
    place: Place,
    /// What stands before the name where it is used.
    before: &'static [&'static str],
}

enum Place {
    Macro(&'static str),
    Enum(&'static str),
}

const LISTS: [List; 3] = [
    List { path: "crates/model/src/live.rs", place: Place::Macro("counters"), before: &["."] },
    List {
        path: "crates/model/src/cause.rs",
        place: Place::Macro("causes"),
        before: &["Cause", "::"],
    },
    List {
        path: "crates/wire/src/http1/defect.rs",
        place: Place::Enum("Defect"),
        before: &["Defect", "::"],
    },
];

/// Names that nothing uses.
pub fn offences(tree: &Tree) -> Vec<Offence> {
    LISTS.iter().flat_map(|list| unused(tree, list)).collect()
}

fn unused(tree: &Tree, list: &List) -> Vec<Offence> {
    let Some(file) = tree.file(list.path) else { return Vec::new() };
    let users: Vec<Vec<Token<'_>>> = tree
        .files
        .iter()
        .filter(|user| user.source_of().is_some() && user.path != file.path)
        .map(File::product_tokens)
        .collect();
    let mut out = Vec::new();
    for name in names(&file.tokens(), &list.place) {
        let mut spelled = list.before.to_vec();
        spelled.push(name.text);
        let used =
            |tokens: &Vec<Token<'_>>| (0..tokens.len()).any(|at| spells(tokens, at, &spelled));
        if !users.iter().any(used) {
            let text = format!("`{}` is never counted: use it or remove it", name.text);
            out.push(Offence::new(&file.path, name.line, text));
        }
    }
    out
}

fn names<'t>(tokens: &[Token<'t>], place: &Place) -> Vec<Token<'t>> {
    let mut out = Vec::new();
    for at in 0..tokens.len() {
        let (open, follow): (usize, &[&str]) = match place {
            Place::Macro(name) if spells(tokens, at, &[name, "!", "{"]) => (at + 2, &["="]),
            Place::Enum(name) if spells(tokens, at, &["enum", name, "{"]) => (at + 2, &[",", "}"]),
            _ => continue,
        };
        for here in open..closing(tokens, open) {
            let ends = tokens.get(here + 1).is_some_and(|next| follow.contains(&next.text));
            // An attribute's words are followed by `=` as well: `#[doc = …]`.
            let in_attribute = here >= 1 && tokens[here - 1].text == "[";
            if tokens[here].is_word() && ends && !in_attribute {
                out.push(tokens[here]);
            }
        }
    }
    out
}
