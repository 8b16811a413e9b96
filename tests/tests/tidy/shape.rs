//! The rules about lengths, the module graph and names, each with its bad example.
//!
//! Helpers shared with the other rules are in `tests/tests/tidy.rs`.

use tests::tree::SourceTree;
use tests::{doc_names, measures, sizes};

use super::{finds, holds, none};

#[test]
fn files_and_functions_are_short() {
    holds(sizes::offences);
}

#[test]
fn what_is_too_long_or_grew_is_found() {
    let long = "//! x\n".repeat(sizes::FILE_LINES + 1);
    let fits = "//! x\n".repeat(sizes::FILE_LINES);
    let path = "crates/x/src/a.rs";
    finds(sizes::offences, &[(path, &long)], "has 401 lines", &[(path, &fits)]);

    let body = |lines: usize| format!("fn f(a: [u8; 2]) {{\n{}}}\n", "x();\n".repeat(lines));
    let long = body(sizes::FUNCTION_LINES - 1);
    let fits = body(sizes::FUNCTION_LINES - 2);
    finds(sizes::offences, &[(path, &long)], "has 71 lines", &[(path, &fits)]);

    let entry = |lines: usize| format!("[functions]\n\"{path}::f\" = {lines}\n");
    let grew = entry(70);
    let same = entry(71);
    let shrank = entry(72);
    let exact = [(path, long.as_str()), (sizes::RATCHET, same.as_str())];
    finds(sizes::offences, &[(path, &long), (sizes::RATCHET, &grew)], "grew from 70 to 71", &exact);
    finds(sizes::offences, &[(path, &long), (sizes::RATCHET, &shrank)], "lower its entry", &exact);
    finds(sizes::offences, &[(path, &fits), (sizes::RATCHET, &same)], "remove it", &exact);
}

#[test]
fn what_is_too_long_is_found_in_every_language() {
    let lines = |text: &str, count: usize| text.repeat(count);
    for (path, text) in [("crates/x/bpf/a.h", "int a;\n"), ("crates/api/web/src/a.ts", "a();\n")] {
        let long = lines(text, sizes::FILE_LINES + 1);
        let fits = lines(text, sizes::FILE_LINES);
        finds(sizes::offences, &[(path, &long)], "has 401 lines", &[(path, &fits)]);
    }
    for (path, head) in [
        ("crates/x/bpf/a.bpf.c", "static int f(int a) {\n"),
        ("crates/api/web/src/a.tsx", "export function f() {\n"),
        ("crates/api/web/src/b.ts", "const f = (a: A) => {\n"),
    ] {
        let body = |count: usize| format!("{head}{}}}\n", lines("x();\n", count));
        let long = body(sizes::FUNCTION_LINES - 1);
        let fits = body(sizes::FUNCTION_LINES - 2);
        finds(sizes::offences, &[(path, &long)], "::f` has 71 lines", &[(path, &fits)]);
    }
}

#[test]
fn a_shell_that_is_too_long_or_need_not_be_listed_is_found() {
    let path = "crates/x/src/a.rs";
    let list = format!("shells = [\"{path}::f\"]\n");
    let list = (sizes::RATCHET, list.as_str());
    let body = |lines: usize| format!("fn f() {{\n{}}}\n", "x();\n".repeat(lines - 2));
    let fits = body(sizes::SHELL_LINES);
    let long = body(sizes::SHELL_LINES + 1);
    let short = body(sizes::FUNCTION_LINES);
    let good = [(path, fits.as_str()), list];
    finds(sizes::offences, &[(path, &long), list], "shell `crates/x/src/a.rs::f` has 101", &good);
    finds(sizes::offences, &[(path, &short), list], "no long shell", &good);
    finds(sizes::offences, &[list], "no long shell", &good);
}

#[test]
fn the_roots_of_large_crates_are_overviews() {
    holds(measures::folders::offences);
}

#[test]
fn a_crowded_root_is_found() {
    let paths: Vec<String> = (0..=measures::folders::ROOT_ENTRIES)
        .flat_map(|n| [format!("crates/l7/src/m{n}.rs"), format!("crates/l7/src/m{n}/a.rs")])
        .collect();
    let files: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "")).collect();
    finds(measures::folders::offences, &files, "13 entries", &files[2..]);
}

#[test]
fn a_name_in_a_comment_that_does_not_exist_is_found() {
    let path = "crates/x/src/a.rs";
    let code = "pub fn go_on() { GoodName; x::y(\"in_text\"); } // `bad_name`, bad_name";
    let good =
        format!("//! `go_on()`, `GoodName`, `x::y`, `a.rs`, `in_text`, `one`, `SO_X`.\n{code}\n");
    let good = [(path, good.as_str())];
    for bad in ["bad_name", "BadName", "x::Gone", "gone.rs"] {
        let head = format!("//! Calls `{bad}`.\n{code}\n");
        let found = format!("nothing is named `{bad}`");
        finds(doc_names::heads, &[(path, &head)], &found, &good);
        let doc = format!("/// Calls `{bad}`.\n{code}\n");
        finds(doc_names::offences, &[(path, &doc)], &found, &good);
        none(&doc_names::heads(&SourceTree::from_files(&[(path, &doc)])));
    }
}

#[test]
fn the_language_and_shape_of_the_code_get_no_worse() {
    holds(measures::offences);
}

#[test]
fn a_measure_that_rose_or_whose_entry_is_out_of_date_is_found() {
    let source = ("crates/x/src/a.rs", "struct Told;");
    let ratchet = |of_one_word: u32, more: &str| {
        format!("[measures]\ntypes-of-one-word = {of_one_word}\ntypes-not-nouns = 1000\n{more}")
    };
    let good = ratchet(1000, "");
    let worse = ratchet(900, "");
    let good = [source, ("tests/ratchet.toml", good.as_str())];
    finds(measures::offences, &[source, ("tests/ratchet.toml", &worse)], "rose from 900", &good);
    let better = ratchet(1100, "");
    let gone = ratchet(1000, "beauty = 1\n");
    finds(measures::offences, &[source, ("tests/ratchet.toml", &better)], "lower its", &good);
    finds(measures::offences, &[source, ("tests/ratchet.toml", &gone)], "nothing measures", &good);
}
