//! Tuples in place of named values: several values bound or set at once, tuple parameters, and tuples in fields.

use std::collections::BTreeMap;

use crate::lexer::{RustToken, closing};
use crate::tree::SourceFile;

/// Tuples per hundred thousand lines, and the numbers of functions and of tuples in fields.
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
        ("tuples-in-fields".to_owned(), found.fields),
    ])
}

#[derive(Debug, Default, PartialEq, Eq)]
struct TupleCounts {
    lets: usize,
    assignments: usize,
    functions: usize,
    fields: usize,
}

fn count(tokens: &[RustToken<'_>], found: &mut TupleCounts) {
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "let" if sets_several(tokens, at + 1) => found.lets += 1,
            ";" | "{" | "}" if sets_several(tokens, at + 1) => found.assignments += 1,
            "fn" if takes_a_tuple(tokens, at) => found.functions += 1,
            "struct" | "enum" => found.fields += tuples_in_fields(tokens, at),
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

/// The tuples in the fields of the type at `at`.
fn tuples_in_fields(tokens: &[RustToken<'_>], at: usize) -> usize {
    if !tokens.get(at + 1).is_some_and(RustToken::is_word) {
        return 0;
    }
    let is_end = |at: &usize| ["{", "(", ";"].contains(&tokens[*at].text);
    let Some(open) = (at..tokens.len().min(at + 200)).find(is_end) else { return 0 };
    if tokens[open].text == ";" {
        return 0;
    }
    let end = closing(tokens, open);
    let mut count = 0;
    let mut next = open + 1;
    while next < end {
        match tokens[next].text {
            // An attribute has no types.
            "#" => next = closing(tokens, next + 1),
            // A variant's fields, or the parameters of a function type, follow a word.
            // A marker has no values.
            "PhantomData" => {
                while next < end && tokens[next].text != "," {
                    next = if tokens[next].text == "(" { closing(tokens, next) } else { next } + 1;
                }
            }
            "(" if !tokens[next - 1].is_word() && tuple(tokens, next).is_some() => count += 1,
            _ => {}
        }
        next += 1;
    }
    count
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
        assert_eq!(found, TupleCounts { lets: 1, assignments: 1, functions: 2, fields: 0 });
    }
    #[test]
    fn tuples_in_fields_are_counted_and_fields_of_variants_are_not() {
        let mut found = TupleCounts::default();
        let text = "struct A { #[serde(from = \"B\", into = \"C\")] a: Vec<(u8, u8)>, pub(super) b: Option<(u8, (u8, u8))> }\n\
                    struct D(u8, (u8, u8)); struct E; struct F(u8, u8);\n\
                    struct M(PhantomData<(u8, u8)>); struct N { a: PhantomData<fn() -> (u8, u8)>, b: u8 } enum G { H(u8, u8), I { a: fn(u8, u8) -> u8 }, J((u8, u8)), K(Box<dyn Fn(u8, u8)>) }\n\
                    fn l() { let a = (1, 2); let b: Vec<(u8, u8)> = c(); }";
        count(&tokens(text), &mut found);
        assert_eq!(found, TupleCounts { fields: 5, ..TupleCounts::default() });
    }
}
