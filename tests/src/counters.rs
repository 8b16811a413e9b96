//! Every counter is used: each counter, cause and defect has a user outside the file that lists it.
//!
//! Uses are found by name in product code. Other tests check that each counter increases at the right moment.

use std::collections::BTreeSet;

use crate::lexer::{RustToken, closing, spells};
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// A file whose macro `name! { … }` lists names as `name = …`.
struct NameList {
    path: &'static str,
    name: &'static str,
    /// The tokens before a name where it is used.
    before: &'static [&'static str],
}

const LISTS: [NameList; 3] = [
    NameList { path: "crates/model/src/stats.rs", name: "counters", before: &["."] },
    NameList { path: "crates/model/src/cause.rs", name: "causes", before: &["Cause", "::"] },
    NameList {
        path: "crates/wire/src/http1/defect.rs",
        name: "defects",
        before: &["Defect", "::"],
    },
];

/// Listed names that no product code uses.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    LISTS.iter().flat_map(|list| unused(tree, list)).collect()
}

fn unused(tree: &SourceTree, list: &NameList) -> Vec<RuleBreach> {
    let Some(file) = tree.file(list.path) else { return Vec::new() };
    let users =
        tree.files.iter().filter(|user| user.source_of().is_some() && user.path != file.path);
    let used: BTreeSet<&str> = users.flat_map(|user| used_after(user, list.before)).collect();
    let mut out = Vec::new();
    for name in names(&file.tokens(), list.name) {
        if !used.contains(name.text) {
            let text = format!("`{}` is never counted: use it or remove it", name.text);
            out.push(RuleBreach::new(&file.path, name.line, text));
        }
    }
    out
}

/// The word after each occurrence of `before` in a file's product code.
fn used_after<'t>(user: &'t SourceFile, before: &[&str]) -> Vec<&'t str> {
    let tokens = user.product_tokens();
    let after = |at: usize| spells(&tokens, at, before).then(|| tokens.get(at + before.len()));
    (0..tokens.len()).filter_map(after).flatten().map(|token| token.text).collect()
}

fn names<'t>(tokens: &[RustToken<'t>], list: &str) -> Vec<RustToken<'t>> {
    let mut out = Vec::new();
    for at in (0..tokens.len()).filter(|at| spells(tokens, *at, &[list, "!", "{"])) {
        let open = at + 2;
        for here in open..closing(tokens, open) {
            // `=` also follows the word of an attribute such as `#[doc = …]`.
            let in_attribute = tokens[here - 1].text == "[";
            if tokens[here].is_word() && spells(tokens, here + 1, &["="]) && !in_attribute {
                out.push(tokens[here]);
            }
        }
    }
    out
}
