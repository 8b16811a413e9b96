//! Comparison of text with a file under `tests/expect`; `UPDATE_EXPECT=1` writes the file instead. Tests only.

use std::path::Path;

/// Fails if `text` differs from the content of the file.
pub fn expect(name: &str, text: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expect").join(name);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        files::create::write(&file, text, 0o644).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        text,
        expected,
        "{} differs; look, then run again with UPDATE_EXPECT=1",
        file.display()
    );
}

/// No line may be wider than a usual screen.
pub fn fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{} characters: {line}", line.chars().count());
        assert_eq!(line.trim_end(), line);
    }
}
