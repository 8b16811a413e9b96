//! Every capability row has its proof, and the page of rows is what the table and the annotations say.
//!
//! The rules are in the library of this package.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

use tests::rows::{PAGE, TABLE, offences, render_page};
use tests::tree::{RuleBreach, SourceTree, top};

/// A row of the capability that the invented trees have.
const ROW: &str = "[[row]]\nid = \"A01\"\nwhat = \"x\"\nplace = \"[a](a.md#here)\"\n";
const PAGE_OF_IT: &str = "# A\n\n## Here\n";
const TEST: &str = "// Rows: A01\n/// Why.\n#[test]\nfn it_holds() {}\n";

fn found(table: &str, page: &str, test: &str) -> Vec<String> {
    let files = [(TABLE, table), ("docs/a.md", page), ("crates/x/tests/a.rs", test)];
    offences(&SourceTree::from_files(&files)).iter().map(RuleBreach::to_string).collect()
}

/// Exactly one breach is found, and it says this.
fn finds(breaches: &[String], says: &str) {
    assert_eq!(breaches.len(), 1, "{breaches:?}");
    assert!(breaches[0].contains(says), "{breaches:?}");
}

#[test]
fn every_row_has_its_proof() {
    let tree = SourceTree::read_repository().unwrap();
    let lines: Vec<String> = offences(&tree).iter().map(RuleBreach::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

#[test]
fn the_page_is_what_the_table_and_the_tests_say() {
    let fresh = render_page(&SourceTree::read_repository().unwrap()).unwrap();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(top().join(PAGE), &fresh).unwrap();
    }
    let written = std::fs::read_to_string(top().join(PAGE)).unwrap_or_default();
    assert!(
        written == fresh,
        "{PAGE} is not what the rows say: UPDATE_EXPECT=1 cargo test -p tests --test rows"
    );
}

#[test]
fn a_row_with_its_test_and_place_is_good() {
    assert_eq!(found(ROW, PAGE_OF_IT, TEST), [""; 0]);
    let files = [(TABLE, ROW), ("crates/x/tests/a.rs", TEST)];
    let page = render_page(&SourceTree::from_files(&files)).unwrap();
    let row = "| A01 | x | [a](a.md#here) | [it holds](../crates/x/tests/a.rs) | works |\n";
    assert!(page.ends_with(row), "{page}");
}

#[test]
fn a_row_without_a_test_is_found() {
    finds(&found(ROW, PAGE_OF_IT, ""), "A01: no test proves it");
    let partly = format!("{ROW}missing = \"y\"\n");
    finds(&found(&partly, PAGE_OF_IT, ""), "A01: no test proves it");
    let without = format!("{ROW}not-offered = true\n");
    assert_eq!(found(&without, PAGE_OF_IT, ""), [""; 0]);
    finds(&found(&without, PAGE_OF_IT, TEST), "A01: it is not offered, and has a test");
}

#[test]
fn an_annotation_with_an_unknown_id_is_found() {
    let test = TEST.replace("A01", "A01, A02");
    finds(
        &found(ROW, PAGE_OF_IT, &test),
        "crates/x/tests/a.rs:1: `tests/rows.toml` has no row `A02`",
    );
}

#[test]
fn an_annotation_above_no_test_is_found() {
    for below in
        ["fn it_holds() {}\n", "#[cfg(unix)]\nfn it_holds() {}\n", "", "\n#[test]\nfn f() {}\n"]
    {
        let both = format!("{TEST}// Rows: A01\n{below}");
        finds(&found(ROW, PAGE_OF_IT, &both), "a.rs:5: this annotation stands above no test");
    }
}

#[test]
fn a_place_that_leads_nowhere_is_found() {
    finds(&found(ROW, "# A\n", TEST), "A01: `docs/a.md` has no `#here`");
    finds(
        &found(&ROW.replace("a.md", "b.md"), PAGE_OF_IT, TEST),
        "the link to `docs/b.md` leads nowhere",
    );
    let bare = ROW.replace("[a](a.md#here)", "everywhere");
    finds(&found(&bare, PAGE_OF_IT, TEST), "A01: its place has no link");
}

#[test]
fn a_table_that_is_none_is_found() {
    finds(&found("[[row]]\nid = 1\n", PAGE_OF_IT, ""), "tests/rows.toml");
    finds(&found(&format!("{ROW}{ROW}"), PAGE_OF_IT, TEST), "A01: this id stands twice");
}
