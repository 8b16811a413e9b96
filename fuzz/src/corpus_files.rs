//! The stored corpus of each target and its regressions, as text: one escaped input a line.
//!
//! `tests/prove fuzz` writes `corpus/NAME.txt`; `regressions/NAME.txt` is written by hand, one `name = input` a line.
//! This module limits the number of stored inputs. libFuzzer has selected them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::target::FuzzTarget;

/// The limit of inputs stored per target.
pub const MOST: usize = 300;
/// The size limit of a target's file, in bytes.
pub const BYTES: usize = 512 * 1024;

/// An input that once violated a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regression {
    /// A name for the violation.
    pub name: String,
    pub input: Vec<u8>,
}

/// The stored corpus of a target. Empty if there is none yet.
///
/// # Panics
/// The file has a line that is not an escaped input.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    lines(&path("corpus", name)).iter().map(|line| input(line)).collect()
}

/// The regressions of a target.
///
/// # Panics
/// The file has a line without a name, or with an invalid escaped input.
pub fn regressions(name: &str) -> Vec<Regression> {
    let split = |line: &String| {
        let (name, text) = line.split_once(" = ").unwrap_or_else(|| panic!("no name: {line}"));
        Regression { name: name.to_owned(), input: input(text) }
    };
    lines(&path("regressions", name)).iter().map(split).collect()
}

/// All initial inputs of a run: seeds, corpus and regressions.
pub fn initial_inputs(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let broke = regressions(&target.name).into_iter().map(|one| one.input);
    target.seeds.iter().cloned().chain(corpus(&target.name)).chain(broke).collect()
}

/// The text of a corpus: each input once, the shortest first, within the limits.
pub fn write(mut inputs: Vec<Vec<u8>>) -> String {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    inputs.dedup();
    let mut out = String::new();
    for line in inputs.iter().take(MOST).map(|input| escape(input)) {
        if out.len() + line.len() + 1 > BYTES {
            break;
        }
        out += &line;
        out.push('\n');
    }
    out
}

/// An input as a line. A leading `#` is escaped, because it would start a comment.
pub fn escape(input: &[u8]) -> String {
    let line = input.escape_ascii().to_string();
    line.strip_prefix('#').map_or_else(|| line.clone(), |rest| format!("\\x23{rest}"))
}

/// The input of a line. `None` if the line has an escape that `escape` never writes.
pub fn unescape(line: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = line.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, used) = match (first, after) {
            (b'\\', [b'x', digits @ ..]) => {
                let digits = std::str::from_utf8(digits.get(..2)?).ok()?;
                (u8::from_str_radix(digits, 16).ok()?, 4)
            }
            (b'\\', [b'n', ..]) => (b'\n', 2),
            (b'\\', [b'r', ..]) => (b'\r', 2),
            (b'\\', [b't', ..]) => (b'\t', 2),
            (b'\\', [same @ (b'\\' | b'\'' | b'"'), ..]) => (*same, 2),
            (b'\\', _) => return None,
            (byte, _) => (*byte, 1),
        };
        out.push(byte);
        rest = &rest[used..];
    }
    Some(out)
}

/// The file of a target's corpus or regressions.
pub fn path(kind: &str, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(kind).join(format!("{name}.txt"))
}

fn lines(path: &Path) -> Vec<String> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        read => read.unwrap_or_else(|error| panic!("{}: {error}", path.display())),
    };
    text.lines().filter(|line| !line.starts_with("# ")).map(str::to_owned).collect()
}

fn input(line: &str) -> Vec<u8> {
    unescape(line).unwrap_or_else(|| panic!("not an escaped input: {line}"))
}
