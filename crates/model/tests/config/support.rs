//! Common parts of these tests: a small valid file, files of the repository, short forms of findings.

use std::path::{Path, PathBuf};

use model::config::{CheckedConfig, ConfigFinding, Severity, load};

/// A valid service and pool, to be extended.
pub const BASE: &str = "\
[service.shop]
listen = \"127.0.0.1:8080\"
forward = \"http\"
pool = \"web\"
[pool.web]
servers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]
";

/// Loads a configuration that must be valid.
pub fn good(text: &str) -> CheckedConfig {
    load(text, "test.toml").unwrap_or_else(|findings| panic!("{findings}\nin:\n{text}"))
}

/// The findings of a text, valid or not.
pub fn findings(text: &str) -> Vec<ConfigFinding> {
    match load(text, "test.toml") {
        Ok(checked) => checked.warnings,
        Err(findings) => findings.findings,
    }
}

/// The errors of a text.
pub fn errors(text: &str) -> Vec<ConfigFinding> {
    findings(text).into_iter().filter(|finding| finding.severity == Severity::Error).collect()
}

/// A path of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

pub fn examples() -> Vec<(String, String)> {
    let mut examples: Vec<(String, String)> = std::fs::read_dir(repository("examples"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        })
        .collect();
    examples.sort();
    assert!(examples.len() >= 3);
    examples
}
