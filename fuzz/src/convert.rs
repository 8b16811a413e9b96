//! Targets of the converter: any text as the configuration of another balancer.
//!
//! Properties besides not panicking: the written configuration is valid, and settings that are not converted are
//! counted.

use convert::dialect::Dialect;
use convert::run::convert;
use model::config;

/// A text in this dialect.
pub fn text(dialect: Dialect, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let converted = convert(&text, "fuzz.cfg", dialect);
    if let Some(written) = &converted.text {
        let read = config::load(written, "written.toml");
        assert!(read.is_ok(), "what was converted is refused: {}\n{written}", read.unwrap_err());
    }
    let listed = converted.notes.iter().all(|note| !format!("{note:?}").is_empty());
    assert!(listed && converted.left_out < 1 << 40);
}

/// The configurations of this dialect from the converter's tests.
pub fn seeds(dialect: Dialect) -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/convert/tests");
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files.sort();
    let texts = files.iter().filter_map(|file| std::fs::read_to_string(file).ok());
    let of = |text: &String| Dialect::recognise(text) == Some(dialect) && text.len() < 16_000;
    texts.filter(of).map(String::into_bytes).collect()
}
