//! Applies every repository rule to this repository, and to a small bad example that the rule must find.
//!
//! The rules are in the library of this package.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

use std::path::Path;
use std::process::Command;

use tests::tree::{RuleBreach, SourceTree, top};
use tests::{
    banned_words, counters, doc_fences, event_kinds, file_access, floors, heads, imports, licences,
    links, promise_tests, purity, sentences, skip, unsafety,
};

#[path = "tidy/former.rs"]
mod former;
#[path = "tidy/messages.rs"]
mod messages;
#[path = "tidy/shape.rs"]
mod shape;
#[path = "tidy/site.rs"]
mod site;

type TidyRule = fn(&SourceTree) -> Vec<RuleBreach>;

fn holds(rule: TidyRule) {
    holds_with(rule);
}

fn holds_with(rule: impl Fn(&SourceTree) -> Vec<RuleBreach>) {
    let tree = SourceTree::read_repository().unwrap();
    assert!(tree.files.len() > 20, "the tree was not found");
    none(&rule(&tree));
}

fn none(offences: &[RuleBreach]) {
    let lines: Vec<String> = offences.iter().map(RuleBreach::to_string).collect();
    assert!(lines.is_empty(), "\n{}\n", lines.join("\n"));
}

/// The rule finds exactly one breach in `bad`, whose text contains `says`, and none in `good`.
fn finds(rule: TidyRule, bad: &[(&str, &str)], says: &str, good: &[(&str, &str)]) {
    let found = rule(&SourceTree::from_files(bad));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].to_string().contains(says), "{}", found[0]);
    none(&rule(&SourceTree::from_files(good)));
}

#[test]
fn crates_import_only_lower_floors() {
    holds(floors::offences);
}

#[test]
fn an_import_of_the_same_floor_is_found() {
    let good = "[dependencies]\nmodel.workspace = true\n[dev-dependencies]\napi.workspace = true\n";
    let bad = "[target.'cfg(unix)'.dependencies]\napi.workspace = true\n";
    let path = "crates/l7/Cargo.toml";
    finds(floors::offences, &[(path, bad)], "may not import `api`", &[(path, good)]);
    finds(floors::offences, &[("crates/attic/Cargo.toml", "")], "no floor", &[]);
}

#[test]
fn every_kind_of_event_can_be_watched() {
    let known: Vec<&str> = daemon::event_kinds::event_kinds().collect();
    holds_with(|tree| event_kinds::offences(tree, &known));
    let bad = ("crates/daemon/src/x.rs", "fn f() { events.warn(\"never-listed\", text); }");
    let found = event_kinds::offences(&SourceTree::from_files(&[bad]), &known);
    assert!(found.len() == 1 && found[0].to_string().contains("never-listed"), "{found:?}");
}

#[test]
fn files_do_not_import_in_circles() {
    holds(imports::offences);
}

#[test]
fn a_loop_of_three_files_is_found() {
    let a = ("crates/x/src/a.rs", "use crate::b::B;");
    let c = ("crates/x/src/b/c.rs", "fn f() { crate::a::go() }");
    let bad = [a, ("crates/x/src/b.rs", "pub use c::C; mod c;"), c];
    let good = [a, ("crates/x/src/b.rs", "mod c;\n#[cfg(test)] mod tests { use super::c::C; }"), c];
    finds(imports::offences, &bad, "a.rs → b.rs → b/c.rs → a.rs (3 files", &good);
}

#[test]
fn an_import_through_the_root_is_found() {
    let root = ("crates/x/src/lib.rs", "pub mod a; pub mod b; pub use a::A; pub use b::B;");
    let a = ("crates/x/src/a.rs", "pub struct A;");
    let bad = [root, a, ("crates/x/src/b.rs", "use crate::A;")];
    let good = [root, a, ("crates/x/src/b.rs", "use crate::a::A;")];
    finds(imports::offences, &bad, "import from the defining file", &good);
}

#[test]
fn a_child_that_imports_from_its_parent_is_found() {
    let parent = ("crates/x/src/p.rs", "mod kid; use self::kid::Kid; pub struct P;");
    let bad = [parent, ("crates/x/src/p/kid.rs", "use super::P;")];
    let good = [
        parent,
        ("crates/x/src/p/kid.rs", "use super::other::Q;"),
        ("crates/x/src/p/other.rs", "pub struct Q;"),
    ];
    finds(imports::offences, &bad, "in a circle", &good);
}

#[test]
fn files_open_with_their_job_and_lib_only_declares() {
    holds(heads::offences);
}

#[test]
fn a_missing_head_and_a_busy_lib_are_found() {
    let path = "crates/x/src/a.rs";
    let good = [(path, "//! Adds two numbers.\n")];
    finds(heads::offences, &[(path, "use std::fs;\n")], "must open with", &good);
    finds(heads::offences, &[(path, "//! Adder\n")], "must open with", &good);
    finds(
        heads::offences,
        &[("crates/x/src/a/mod.rs", "//! Adds two numbers.\n")],
        "mod.rs",
        &good,
    );
    let path = "crates/x/src/lib.rs";
    let good = [(path, "//! Adds two numbers.\npub mod a;\npub use a::A;\n")];
    finds(heads::offences, &[(path, "//! Adds two numbers.\npub fn add() {}\n")], "`fn`", &good);
}

#[test]
fn sentences_of_the_documentation_are_short() {
    holds(sentences::offences);
}

#[test]
fn a_long_sentence_and_a_long_mean_are_found() {
    let long = vec!["word"; 41].join(" ") + ".";
    let short = "Few words. Few words. Few words. ".repeat(3);
    let bad = format!("{short}\n\n{long}\n");
    finds(sentences::offences, &[("docs/a.md", &bad)], "41 words", &[("docs/a.md", &short)]);
    let mean = vec!["word"; 18].join(" ") + ".";
    let good = [("docs/proof/a.md", mean.as_str()), ("docs/decisions/a.md", long.as_str())];
    finds(sentences::offences, &[("README.md", &mean)], "18.0 words on average", &good);
}

#[test]
fn unsafe_code_stands_where_it_may() {
    holds(unsafety::offences);
}

#[test]
fn unsafe_code_elsewhere_or_without_reason_is_found() {
    let good = [(unsafety::FILES[0], "// SAFETY: it is.\nunsafe { f() }")];
    finds(unsafety::offences, &[("crates/x/src/a.rs", "unsafe { f() }")], "may not stand", &good);
    finds(unsafety::offences, &[(unsafety::FILES[0], "\nunsafe { f() }")], "without", &good);
    finds(unsafety::offences, &[(unsafety::FILES[0], "// unsafe\n")], "off the list", &good);
    let allow = [("crates/x/src/a.rs", "#![allow(unsafe_code)]")];
    finds(unsafety::offences, &allow, "change the lint", &good);
}

#[test]
fn the_lowest_floor_is_pure() {
    holds(purity::offences);
}

#[test]
fn a_clock_in_a_pure_crate_is_found() {
    let path = "crates/model/src/a.rs";
    let good = [
        (path, "use std::time::Duration; #[cfg(test)] mod tests { use std::fs; } // Instant"),
        ("crates/l7/src/a.rs", "use std::time::Instant;"),
    ];
    finds(purity::offences, &[(path, "use std::time::Instant;")], "`Instant`", &good);
    finds(purity::offences, &[(path, "fn f() { std::fs::read(x) }")], "`fs`", &good);
}

#[test]
fn files_are_made_where_nobody_else_can_have_put_them() {
    holds(file_access::offences);
}

#[test]
fn a_name_that_can_be_foreseen_and_a_file_that_is_followed_are_found() {
    let path = "crates/x/src/a.rs";
    let good = [
        (
            path,
            "fn f() { make_dir(p, 0o700); fs::read(p); } #[cfg(test)] mod t { fn f() { fs::write(p, t) } }",
        ),
        ("crates/files/src/a.rs", "fn f() { std::env::temp_dir(); OpenOptions::new(); }"),
        ("crates/x/tests/a.rs", "fn f() { File::create(p); }"),
        (file_access::KERNELS[0], "fn f() { fs::write(p, t) }"),
    ];
    let found = |bad: &[(&str, &str)], says| finds(file_access::offences, bad, says, &good);
    found(&[(path, "fn f() { std::env::temp_dir().join(format!(\"x-{pid}\")); }")], "foreseen");
    found(&[("crates/x/tests/a.rs", "fn f() { temp_dir(); }")], "foreseen");
    found(&[(path, "fn f() { let p = \"/tmp/x\"; }")], "everybody may make files");
    for makes in [
        "fs::create_dir_all(p)",
        "fs::create_dir(p)",
        "File::create(p)",
        "fs::write(p, t)",
        "OpenOptions::new()",
        "DirBuilder::new()",
        "open(p, OFlags::CREATE)",
    ] {
        found(&[(path, &format!("fn f() {{ {makes}; }}"))], "use `files::make`");
    }
    found(&[(file_access::KERNELS[0], "fn f() {}")], "off the list");
}

#[test]
fn the_daemon_reads_regular_files_alone() {
    holds(file_access::read_offences);
}

#[test]
fn a_read_that_would_wait_is_found() {
    let path = "crates/daemon/src/a.rs";
    let good = [
        (path, "fn f() { regular::read(p, 9); } #[cfg(test)] mod t { fn f() { fs::read(p) } }"),
        ("crates/cli/src/a.rs", "fn f() { fs::read(p); }"),
        (file_access::READERS[0], "fn f() { File::open(p); }"),
    ];
    for reads in ["fs::read(p)", "std::fs::read_to_string(p)", "File::open(p)"] {
        let bad = format!("fn f() {{ {reads}; }}");
        for at in [path, "crates/l7/src/a.rs", "crates/model/src/a.rs"] {
            finds(file_access::read_offences, &[(at, &bad)], "use `files::regular`", &good);
        }
    }
    finds(
        file_access::read_offences,
        &[(file_access::READERS[0], "fn f() {}")],
        "off the list",
        &good,
    );
}

#[test]
fn nothing_is_unfinished_or_of_the_workshop() {
    holds(banned_words::offences);
}

#[test]
fn forbidden_words_are_found() {
    let good = [("a.rs", "// A hack that is done; method, TODOS.\n")];
    let unfinished = ["TO", "DO: later"].concat();
    finds(banned_words::offences, &[("a.rs", &unfinished)], "finish it", &good);
    let ignored = ["#[ig", "nore = \"slow\"]"].concat();
    finds(banned_words::offences, &[("a.rs", &ignored)], "finish it", &good);
    let place = ["see /wo", "rk/main"].concat();
    finds(banned_words::offences, &[("README.md", &place)], "not of the product", &good);
}

#[test]
fn blocks_in_doc_comments_are_text() {
    holds(doc_fences::offences);
}

#[test]
fn a_block_that_would_be_a_doc_test_is_found() {
    let good = [("a.rs", "/// ```text\n/// a -> b\n/// ```\nfn f() {}\n")];
    let bad = good[0].1.replace("```text", "```");
    finds(doc_fences::offences, &[("a.rs", &bad)], "nothing compiles it", &good);
}

#[test]
fn every_counter_is_counted() {
    holds(counters::offences);
}

#[test]
fn a_counter_without_a_user_is_found() {
    let live = ("crates/model/src/stats.rs", "counters! { S { /// Doc.\n hits = \"hits\"; } }");
    let bad = [live, ("crates/l7/src/a.rs", "#[cfg(test)] mod tests { fn f() { s.hits.add(1) } }")];
    let good = [live, ("crates/l7/src/a.rs", "fn f() { s.hits.add(1) }")];
    finds(counters::offences, &bad, "`hits` is never counted", &good);
    let defect = (
        "crates/wire/src/http1/defect.rs",
        "defects! { BareCr = \"bare-cr\", 400; ObsFold = \"obs-fold\", 400; }",
    );
    let user = "fn f() { Defect::BareCr; Defect::ObsFold; }";
    let good = [defect, ("crates/wire/src/http1/head.rs", user)];
    let bad = [defect, ("crates/wire/src/http1/head.rs", "fn f() { Defect::ObsFold }")];
    finds(counters::offences, &bad, "`BareCr`", &good);
}

#[test]
fn links_lead_somewhere() {
    holds(links::offences);
}

#[test]
fn a_broken_link_is_found() {
    let page = "[a](../a.rs#x) [web](https://example.com) [here](#there) [folder](decisions)";
    let good = [("docs/x.md", page), ("a.rs", ""), ("docs/decisions/1.md", "")];
    let bad = [("docs/x.md", "[b](b.md)")];
    finds(links::offences, &bad, "leads nowhere", &good);
}

#[test]
fn paths_on_the_maps_exist() {
    holds(links::path_offences);
}

#[test]
fn a_path_on_a_map_that_does_not_exist_is_found() {
    let files = [("crates/x/src/a.rs", ""), ("crates/x/src/b/c.rs", "")];
    let page =
        "See `crates/x/src/{a.rs,b}`, `crates/x/src/`, `crates/x/src/a.rs::f` and `crates/*/y`.";
    for map in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/glossary.md"] {
        let good = [files[0], files[1], (map, page)];
        let bad = [files[0], files[1], (map, "See `crates/x/src/{a,b}.rs`.")];
        finds(links::path_offences, &bad, "`crates/x/src/b.rs` leads nowhere", &good);
    }
}

#[test]
fn dependencies_are_free_to_use() {
    let version = run("rustc", &["-vV"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned();
    let cargo = env!("CARGO");
    let metadata =
        run(cargo, &["metadata", "--format-version=1", "--locked", "--filter-platform", &host]);
    assert!(metadata.contains("\"name\":\"httparse\""), "the metadata names no dependency");
    none(&licences::offences(&metadata).unwrap());
}

#[test]
fn a_licence_that_binds_is_found() {
    for free in
        ["MIT", "MIT/GPL-2.0", "(MIT OR GPL-3.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]
    {
        assert!(licences::is_free(free), "{free}");
    }
    for bound in
        ["", "GPL-3.0", "MIT AND MPL-2.0", "(MIT", "MIT MIT", "GPL-2.0 WITH LLVM-exception"]
    {
        assert!(!licences::is_free(bound), "{bound}");
    }
    let package = r#"{"packages":[{"name":"a","version":"1","license":null}]}"#;
    assert_eq!(licences::offences(package).unwrap().len(), 1);
}

#[test]
fn the_lock_file_is_committed() {
    if !top().join(".git").exists() {
        return skip::skip("not a git work tree");
    }
    assert_eq!(run("git", &["ls-files", "Cargo.lock"]).trim(), "Cargo.lock");
}

fn run(program: &str, arguments: &[&str]) -> String {
    let top = top();
    let path: &Path = &top;
    let output = Command::new(program).args(arguments).current_dir(path).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn promises_in_tables_name_tests_that_exist() {
    holds(promise_tests::offences);
}

#[test]
fn a_promise_without_a_test_is_found() {
    let test = ("tests/tests/a.rs", "#[test]\nfn it_holds() {}\n");
    let page = |cell: &str| format!("| promise | shown by |\n|---|---|\n| It holds. | {cell} |\n");
    let good = page("`tests/tests/a.rs::it_holds`");
    let bad = page("`tests/tests/a.rs::it_breaks`");
    let good = [test, ("docs/a.md", good.as_str())];
    finds(promise_tests::offences, &[test, ("docs/a.md", &bad)], "has no test `it_breaks`", &good);
    finds(
        promise_tests::offences,
        &[test, ("docs/a.md", &page("nothing"))],
        "names no test",
        &good,
    );
    finds(promise_tests::offences, &[("docs/a.md", good[1].1)], "does not exist", &good);
    let prose = [("docs/security.md", "It is never lost.\n")];
    finds(promise_tests::offences, &prose, "outside a table", &good);
}
