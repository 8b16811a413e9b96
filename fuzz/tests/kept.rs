//! The stored corpus: text and bytes convert losslessly, limits hold, each file belongs to a target, and fingerprints
//! follow the code.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail the test")]

use std::path::Path;

use fuzz::corpus_files::{self, BYTES, MOST, escape, unescape};
use fuzz::fingerprint::fingerprint;
use fuzz::targets::{all, find};

#[test]
fn any_input_is_one_line_and_comes_back() {
    let every: Vec<u8> = (0..=255).collect();
    let line = escape(&every);
    assert!(line.is_ascii() && !line.contains(['\n', '\r']));
    assert_eq!(unescape(&line).unwrap(), every);
    assert_eq!(unescape(""), Some(Vec::new()));
    let comment = escape(b"# no comment");
    assert!(!comment.starts_with('#'), "{comment}");
    assert_eq!(unescape(&comment).unwrap(), b"# no comment");
    for broken in ["\\", "\\q", "\\x", "\\x4", "\\xzz"] {
        assert_eq!(unescape(broken), None, "{broken}");
    }
}

#[test]
fn what_is_kept_is_bounded_and_shortest_first() {
    let many: Vec<Vec<u8>> = (0..1_000_u32).map(|n| n.to_string().into_bytes()).rev().collect();
    let text = corpus_files::write([many.clone(), many].concat());
    assert_eq!(text.lines().count(), MOST);
    assert_eq!(text.lines().next(), Some("0"));
    assert_eq!(text.lines().last(), Some("299"));
    let long = corpus_files::write((0..9).map(|n| vec![n; BYTES / 16]).collect());
    assert!(!long.is_empty() && long.len() <= BYTES);
}

/// The file of a renamed target would never be read.
#[test]
fn every_file_belongs_to_a_target() {
    for kind in ["corpus", "regressions"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(kind);
        let Ok(files) = std::fs::read_dir(folder) else { continue };
        for file in files.map(|entry| entry.unwrap().path()) {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            assert!(find(&name).is_some(), "{} belongs to no target", file.display());
            let inputs = corpus_files::corpus(&name).len();
            let size = file.metadata().unwrap().len();
            assert!(inputs <= MOST && size <= BYTES as u64, "{name} has {inputs}, {size} bytes");
        }
    }
}

#[test]
fn a_fingerprint_follows_files_names_and_versions() {
    let place = files::TemporaryDir::with_prefix("fingerprint").unwrap();
    let top = place.path();
    let lock = |version: &str| format!("[[package]]\nname = \"h2\"\nversion = \"{version}\"\n");
    place.write("Cargo.lock", lock("1")).unwrap();
    place.write("a.rs", "one").unwrap();
    std::fs::create_dir(top.join("d")).unwrap();
    place.write("d/b.rs", "two").unwrap();
    let now = || fingerprint(top, &["a.rs", "d", "Cargo.lock#h2"]);
    let mut seen = vec![now()];
    assert_eq!(now(), seen[0]);
    std::fs::write(top.join("a.rs"), "ones").unwrap();
    seen.push(now());
    std::fs::rename(top.join("d/b.rs"), top.join("d/c.rs")).unwrap();
    seen.push(now());
    std::fs::write(top.join("Cargo.lock"), lock("2")).unwrap();
    seen.push(now());
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 4);
}

/// Computing a fingerprint panics when a covered path has moved.
#[test]
fn every_target_has_a_fingerprint() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    all().iter().for_each(|target| assert_ne!(fingerprint(&top, target.covers), 0));
}
