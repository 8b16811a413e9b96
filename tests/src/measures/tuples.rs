//! Tuples in place of named values: several values bound or set at once, and tuple parameters.

use std::collections::BTreeMap;

use crate::lexer::{RustToken, closing};
use crate::tree::SourceFile;

/// Tuples per hundred thousand lines, and the number of functions.
pub fn measure(files: &[&SourceFile]) -> BTreeMap<String, usize> {
    let mut lines = 0;
    let mut found = TupleCounts::default();
    for file in files {
        lines += file.text.lines().count();
        count(&file.product_tokens(), &mut found);
    }
    let share = |count: usize| (count * 100_000).div_ceil(lines.max(1));
    BTreeMap::from([
        ("tuple-lets".to_owned(), share(found.lets)),
        ("tuple-assignments".to_owned(), share(found.assignments)),
        ("functions-with-tuple-parameters".to_owned(), found.functions),
    ])
}

#[derive(Debug, Default, PartialEq, Eq)]
struct TupleCounts {
    lets: usize,
    assignments: usize,
    functions: usize,
}

fn count(tokens: &[RustToken<'_>], found: &mut TupleCounts) {
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "let" if sets_several(tokens, at + 1) => found.lets += 1,
            ";" | "{" | "}" if sets_several(tokens, at + 1) => found.assignments += 1,
            "fn" if takes_a_tuple(tokens, at) => found.functions += 1,
            _ => {}
        }
    }
}

/// Whether `(a, b) = (c, d);` begins at `at`.
fn sets_several(tokens: &[RustToken<'_>], at: usize) -> bool {
    let Some(end) = tuple(tokens, at) else { return false };
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.text == text);
    is(end + 1, "=")
        && !is(end + 2, "=")
        && tuple(tokens, end + 2).is_some_and(|end| is(end + 1, ";"))
}

/// The bracket that closes the tuple at `at`, if it has at least two parts.
fn tuple(tokens: &[RustToken<'_>], at: usize) -> Option<usize> {
    let open = tokens.get(at).filter(|token| token.text == "(");
    open?;
    let end = closing(tokens, at);
    let mut comma = None;
    let mut next = at + 1;
    while next < end {
        match tokens[next].text {
            "(" | "[" | "{" => next = closing(tokens, next),
            "," => comma = comma.or(Some(next)),
            _ => {}
        }
        next += 1;
    }
    comma.filter(|comma| comma + 1 < end).map(|_| end)
}

/// Whether a parameter of the function at `at` is a tuple, or a reference to one.
fn takes_a_tuple(tokens: &[RustToken<'_>], at: usize) -> bool {
    if !tokens.get(at + 1).is_some_and(RustToken::is_word) {
        return false;
    }
    // Generic parameters, if there are any, have no brackets before the function's parameters.
    let Some(open) = (at..tokens.len().min(at + 200)).find(|at| tokens[*at].text == "(") else {
        return false;
    };
    let end = closing(tokens, open);
    let mut next = open + 1;
    while next < end {
        match tokens[next].text {
            ":" => {
                let skipped = ["&", "mut"];
                let is_passed = |at: &usize| {
                    skipped.contains(&tokens[*at].text) || tokens[*at].text.starts_with('\'')
                };
                let kind = (next + 1..end).find(|at| !is_passed(at));
                if kind.is_some_and(|at| tuple(tokens, at).is_some()) {
                    return true;
                }
            }
            "(" | "[" | "{" => next = closing(tokens, next),
            _ => {}
        }
        next += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexer::tokens;

    #[test]
    fn tuples_for_want_of_names_are_counted_and_others_are_not() {
        let mut found = TupleCounts::default();
        let text = "fn f((a, b): (u8, u8)) { let (c, d) = (a, b); (c, d) = (d, c); }\n\
                    fn g<T>(a: &'a mut (T, u8), b: u8) -> (u8, u8) { (a.1, b) }\n\
                    fn h(a: u8, b: fn(u8, u8)) { let (c, d) = both(); (k)(a, b); match (a, b) { _ => {} } }";
        count(&tokens(text), &mut found);
        assert_eq!(found, TupleCounts { lets: 1, assignments: 1, functions: 2 });
    }
}
