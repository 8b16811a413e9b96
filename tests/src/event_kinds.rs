//! Every kind of event that the daemon logs is in the list that `watch --on` accepts.

use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Calls that log an event, whose first argument is its kind.
const CALLS: [&str; 3] = [".info(", ".warn(", ".error("];

/// Kinds in the daemon's product code that `known` does not have.
pub fn offences(tree: &SourceTree, known: &[&str]) -> Vec<RuleBreach> {
    let product = |file: &&SourceFile| file.source_of() == Some("daemon") && !file.is_unit_tests();
    tree.files.iter().filter(product).flat_map(|file| unknown_kinds(file, known)).collect()
}

fn unknown_kinds(file: &SourceFile, known: &[&str]) -> Vec<RuleBreach> {
    let product = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut found = Vec::new();
    for (at, call) in CALLS.iter().flat_map(|call| product.match_indices(call)) {
        let argument = product[at + call.len()..].trim_start();
        let literal = argument.strip_prefix('"').and_then(|rest| rest.split('"').next());
        let Some(kind) = literal.filter(|kind| !known.contains(kind)) else { continue };
        let line = product[..at].matches('\n').count() + 1;
        let text = format!("event '{kind}' is missing in `event_kinds`");
        found.push(RuleBreach::new(&file.path, line, text));
    }
    found
}
