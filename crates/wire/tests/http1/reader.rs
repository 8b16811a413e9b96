//! Reads the corpus of hostile and tricky messages; `tests/corpus/README.md` describes the format.
//!
//! The reader checks nothing: the tests of `wire` replay the cases against the codec, end-to-end tests against sockets.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct CorpusCase {
    /// The file's name without its suffix.
    pub name: String,
    pub file: PathBuf,
    pub intent: String,
    /// The expected results, in order.
    pub expect: Vec<String>,
    /// `head`, `connect`, `upgrade` or `other`.
    pub request_kind: String,
    pub client: String,
    /// The bytes that arrive.
    pub sent: Vec<u8>,
    /// The bytes that are passed on.
    pub passed: Vec<u8>,
}

impl CorpusCase {
    /// The name and the status of the defect that ends the stream, if there is one.
    pub fn refusal(&self) -> Option<(&str, u16)> {
        let mut words = self.expect.last()?.split(' ');
        let verb = words.next()?;
        let name = words.next()?;
        let status = words.next()?;
        (verb == "refused" || verb == "refused-body").then(|| (name, status.parse().unwrap()))
    }
}

/// The folder `requests` or `answers`, located from any crate of the workspace.
pub fn folder(kind: &str) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    from.ancestors()
        .map(|parent| parent.join("crates/wire/tests/corpus").join(kind))
        .find(|folder| folder.is_dir())
        .expect("the corpus is in crates/wire/tests/corpus")
}

/// Every case of a kind, ordered by name.
pub fn load(kind: &str) -> Vec<CorpusCase> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "http"))
        .collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> CorpusCase {
    let text = std::fs::read_to_string(file).unwrap();
    let (settings, rest) = text.split_once("\n>>>\n").unwrap_or_else(|| panic!("{file:?}: no >>>"));
    let (sent, passed) = rest.split_once("<<<\n").unwrap_or((rest, ""));
    let mut case = CorpusCase {
        name: file.file_stem().unwrap().to_string_lossy().into_owned(),
        file: file.to_owned(),
        intent: String::new(),
        expect: Vec::new(),
        request_kind: "other".to_owned(),
        client: "1.1".to_owned(),
        sent: unescape(sent),
        passed: unescape(passed),
    };
    for line in settings.lines() {
        if let Some(intent) = line.strip_prefix("# ") {
            case.intent.push_str(intent);
            case.intent.push('\n');
            continue;
        }
        match line.split_once(": ").unwrap_or_else(|| panic!("{file:?}: {line}")) {
            ("expect", outcome) => case.expect.push(outcome.to_owned()),
            ("asked", value) => value.clone_into(&mut case.request_kind),
            ("client", value) => value.clone_into(&mut case.client),
            (key, _) => panic!("{file:?}: unknown setting {key}"),
        }
    }
    case
}

/// Converts the text of a file to bytes.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(found) = rest.chars().next() {
        let mut used = found.len_utf8();
        match found {
            '\n' => {}
            '\\' => used = escape(rest, &mut out),
            _ => out.extend_from_slice(&rest.as_bytes()[..used]),
        }
        rest = &rest[used..];
    }
    out
}

fn escape(text: &str, out: &mut Vec<u8>) -> usize {
    match text.as_bytes().get(1) {
        Some(b'r') => out.push(b'\r'),
        Some(b'n') => out.push(b'\n'),
        Some(b't') => out.push(b'\t'),
        Some(b'0') => out.push(0),
        Some(b'\\') => out.push(b'\\'),
        Some(b'x') => {
            out.push(u8::from_str_radix(&text[2..4], 16).unwrap());
            return 4;
        }
        Some(b'R') => {
            let (count, after) = text[3..].split_once("}{").unwrap();
            let (repeated, _) = after.split_once('}').unwrap();
            out.extend(unescape(repeated).repeat(count.parse().unwrap()));
            return 3 + count.len() + 2 + repeated.len() + 1;
        }
        other => panic!("unknown escape {other:?}"),
    }
    2
}

/// Converts bytes to the text of a file, with a line break after each line feed.
pub fn escaped(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes {
        match byte {
            b'\r' => out.push_str("\\r"),
            b'\n' => out.push_str("\\n\n"),
            b'\t' => out.push_str("\\t"),
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(byte.into()),
            _ => write!(out, "\\x{byte:02x}").unwrap(),
        }
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out
}
