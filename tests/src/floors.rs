//! Crates are on floors, and import only from lower floors.
//!
//! The rule reads the manifests. Normal and build dependencies count, test dependencies do not. Cycles between files
//! are the job of another rule (`imports`).

use toml::{Table, Value};

use crate::tree::{RuleBreach, SourceTree};

/// Crate folders, lowest floor first. The list may also name planned crates.
pub const FLOORS: [&[&str]; 5] = [
    &["files"],
    &["credentials", "wire", "model", "bpf"],
    &["l4", "l7", "ha", "links", "names", "api", "trace", "probe", "convert", "gateway"],
    &["lab", "daemon"],
    &["cli"],
];

/// Dependencies between crates of this workspace that do not point to a lower floor.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    for file in &tree.files {
        let Some(name) =
            file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        let Some(floor) = floor_of(name) else {
            out.push(RuleBreach::new(
                &file.path,
                0,
                format!("crate `{name}` has no floor: give it one"),
            ));
            continue;
        };
        let manifest: Table = match file.text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                out.push(RuleBreach::new(&file.path, 0, format!("cannot be read: {error}")));
                continue;
            }
        };
        for dependency in dependencies(&manifest) {
            if floor_of(&dependency).is_some_and(|below| below >= floor) {
                out.push(RuleBreach::new(
                    &file.path,
                    0,
                    format!("`{name}` may not import `{dependency}`: only lower floors"),
                ));
            }
        }
    }
    out
}

fn floor_of(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

/// Names under `[dependencies]` and `[build-dependencies]`, for every target.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(|t| t.values().filter_map(Value::as_table));
    std::iter::once(manifest)
        .chain(tables)
        .flat_map(|table| ["dependencies", "build-dependencies"].map(|key| table.get(key)))
        .flatten()
        .filter_map(Value::as_table)
        .flat_map(|names| names.keys().cloned())
        .collect()
}
