//! The kept corpus of each target and the inputs that once broke it, as text: one escaped input a line.
//!
//! `corpus/NAME.txt` is written by `tests/prove fuzz`; `regressions/NAME.txt` is written by hand, one `name = input` a line.
//! It decides how much is kept, not what is worth it: libFuzzer has chosen.

use std::fs;
use std::path::{Path, PathBuf};

use crate::target::FuzzTarget;

/// Inputs that are kept of a target.
pub const MOST: usize = 300;
/// Bytes of a target's file.
pub const BYTES: usize = 512 * 1024;

/// An input that once broke a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regression {
    /// What went wrong, as a name.
    pub name: String,
    pub input: Vec<u8>,
}

/// The kept corpus of a target; empty when there is none yet.
///
/// # Panics
/// When its file has a line that is no escaped input.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    lines(&path("corpus", name)).iter().map(|line| input(line)).collect()
}

/// What once broke a target.
///
/// # Panics
/// When its file has a line without a name, or one that is no escaped input.
pub fn regressions(name: &str) -> Vec<Regression> {
    let split = |line: &String| {
        let (name, text) = line.split_once(" = ").unwrap_or_else(|| panic!("no name: {line}"));
        Regression { name: name.to_owned(), input: input(text) }
    };
    lines(&path("regressions", name)).iter().map(split).collect()
}

/// Everything that a run begins with.
pub fn initial_inputs(target: &FuzzTarget) -> Vec<Vec<u8>> {
    let broke = regressions(&target.name).into_iter().map(|one| one.input);
    target.seeds.iter().cloned().chain(corpus(&target.name)).chain(broke).collect()
}

/// The text of a corpus: each input once, shortest first, as many as the bounds allow.
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

/// An input as a line, which is never taken for a comment.
pub fn escape(input: &[u8]) -> String {
    let line = input.escape_ascii().to_string();
    line.strip_prefix('#').map_or_else(|| line.clone(), |rest| format!("\\x23{rest}"))
}

/// A line as an input; `None` when it has what `escape` never writes.
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

/// Where the corpus or the regressions of a target are.
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
