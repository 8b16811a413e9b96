//! The capability rows of `tests/rows.toml`, each with the tests that prove it, as the page `docs/rows.md`.
//!
//! A test proves rows by a comment directly above its attributes, which names their ids: `Rows:` with the ids after it,
//! between commas. A reader decides whether the test proves the row. Checked here is that every row has such a test or
//! is not offered, that every id exists, and that each row's place is a link to a page and heading that exist.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::links::{links_of, resolve};
use crate::site_pages::heading_anchors;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// The table of rows.
pub const TABLE: &str = "tests/rows.toml";
/// The page that is made of it.
pub const PAGE: &str = "docs/rows.md";

/// How an annotation begins.
const MARK: &str = "// Rows: ";

/// The head of the page.
const HEAD: &str = "\
# Capabilities, where they are configured, and the tests that prove them

The capabilities of the load balancers and network analyzers that Steelyard was designed after. Each row names where it is
configured and the tests that prove it. The table is generated from [rows.toml](../tests/rows.toml) and from comments above the
tests. A row without a test fails the build.

- *works*: offered, and tested.
- *partly*: offered and tested, except for what is named.
- *not offered*: left out, [with the reason and a replacement](not-offered.md).

";

/// The table as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowTable {
    row: Vec<CapabilityRow>,
}

/// One capability.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct CapabilityRow {
    id: String,
    what: String,
    /// Links to pages, as they are written on a page in `docs/`.
    place: String,
    /// What of it is missing.
    missing: Option<String>,
    #[serde(default)]
    not_offered: bool,
}

/// One annotated test.
#[derive(Debug)]
struct ProvingTest<'t> {
    file: &'t SourceFile,
    /// The line of the annotation, from 1.
    line: usize,
    ids: Vec<&'t str>,
    /// The function that follows; `None` if it is no test.
    function: Option<&'t str>,
}

/// Rows without a test, a place or a state, and annotations that name no row or stand above no test.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let rows = match read_table(tree) {
        Ok(rows) => rows,
        Err(breach) => return vec![breach],
    };
    let tests = proving_tests(tree);
    let mut out: Vec<RuleBreach> =
        rows.iter().flat_map(|row| row_offences(tree, row, &tests)).collect();
    let mut known = BTreeSet::new();
    for row in rows.iter().filter(|row| !known.insert(row.id.as_str())) {
        out.push(breach_of(row, "this id stands twice"));
    }
    for test in &tests {
        let breach = |text: String| RuleBreach::new(&test.file.path, test.line, text);
        if test.function.is_none() {
            out.push(breach("this annotation stands above no test".to_owned()));
        }
        let unknown = test.ids.iter().filter(|id| !known.contains(*id));
        out.extend(unknown.map(|id| breach(format!("`{TABLE}` has no row `{id}`"))));
    }
    out
}

/// The page as it should be.
///
/// # Errors
///
/// The table cannot be read.
pub fn render_page(tree: &SourceTree) -> Result<String, RuleBreach> {
    let rows = read_table(tree)?;
    let mut proofs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let tests = proving_tests(tree);
    for test in &tests {
        let Some(function) = test.function else { continue };
        let path = &test.file.path;
        let name = format!("[{}](../{path})", function.replace('_', " "));
        for id in &test.ids {
            proofs.entry(id).or_default().push(name.clone());
        }
    }
    let mut out = HEAD.to_owned();
    out.push_str("| row | capability | where | proven by | state |\n|---|---|---|---|---|\n");
    for row in rows {
        let proof = proofs.remove(row.id.as_str()).unwrap_or_default().join(", ");
        let state = match (&row.missing, row.not_offered) {
            (Some(missing), _) => format!("partly; missing: {missing}"),
            (None, true) => "not offered".to_owned(),
            (None, false) => "works".to_owned(),
        };
        let CapabilityRow { id, what, place, .. } = row;
        out.push_str(&format!("| {id} | {what} | {place} | {proof} | {state} |\n"));
    }
    Ok(out)
}

fn read_table(tree: &SourceTree) -> Result<Vec<CapabilityRow>, RuleBreach> {
    let text = tree.file(TABLE).map(|file| file.text.as_str());
    let text = text.ok_or_else(|| RuleBreach::new(TABLE, 0, "the table of rows is missing"))?;
    match toml::from_str::<RowTable>(text) {
        Ok(table) => Ok(table.row),
        Err(error) => Err(RuleBreach::new(TABLE, 0, error.to_string())),
    }
}

fn breach_of(row: &CapabilityRow, text: &str) -> RuleBreach {
    RuleBreach::new(TABLE, 0, format!("row {}: {text}", row.id))
}

/// What is wrong with one row.
fn row_offences(
    tree: &SourceTree,
    row: &CapabilityRow,
    tests: &[ProvingTest<'_>],
) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    let is_proven = tests.iter().any(|test| test.ids.contains(&row.id.as_str()));
    if !is_proven && !row.not_offered {
        out.push(breach_of(row, "no test proves it: write `// Rows:` and its id above one"));
    }
    if row.not_offered && (is_proven || row.missing.is_some()) {
        out.push(breach_of(row, "it is not offered, and has a test or a missing part"));
    }
    let text = [row.place.as_str(), row.missing.as_deref().unwrap_or_default()].join(" ");
    if links_of(&row.place).is_empty() {
        out.push(breach_of(row, "its place has no link"));
    }
    for link in links_of(&text) {
        let path = resolve(PAGE, link.path);
        let Some(page) = tree.file(&path) else {
            out.push(breach_of(row, &format!("the link to `{path}` leads nowhere")));
            continue;
        };
        let anchor = link.anchor.filter(|anchor| !heading_anchors(&page.text).contains(*anchor));
        let lost = anchor.map(|anchor| breach_of(row, &format!("`{path}` has no `#{anchor}`")));
        out.extend(lost);
    }
    out
}

/// Every annotation of the tree, by path and line.
fn proving_tests(tree: &SourceTree) -> Vec<ProvingTest<'_>> {
    tree.rust().flat_map(annotations_of).collect()
}

fn annotations_of(file: &SourceFile) -> Vec<ProvingTest<'_>> {
    let lines: Vec<&str> = file.text.lines().map(str::trim).collect();
    let numbered = lines.iter().enumerate();
    let marked = numbered.filter_map(|(at, line)| Some((at, line.strip_prefix(MARK)?)));
    marked
        .map(|(at, ids)| ProvingTest {
            file,
            line: at + 1,
            ids: ids.split(',').map(str::trim).collect(),
            function: test_below(&lines[at + 1..]),
        })
        .collect()
}

/// The name of the test that begins here, behind its comments and attributes.
fn test_below<'t>(lines: &[&'t str]) -> Option<&'t str> {
    let head = |line: &&&str| line.starts_with("//") || line.starts_with("#[");
    let above = lines.iter().take_while(head).count();
    let is_test = lines[..above].contains(&"#[test]");
    let signature = lines.get(above)?.strip_prefix("fn ").filter(|_| is_test)?;
    signature.split('(').next()
}
