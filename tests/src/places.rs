//! Files and directories are made by the crate `files` alone, which trusts no name that another user could have put there;
//! and it alone reads in the daemon, where a name may lead to a pipe, a device or a file without end.
//!
//! By the names that such code cannot do without. Tests may write what they like into a directory of their own; how they
//! come by one is the same for all.

use crate::lexer::Token;
use crate::tree::{File, Offence, Tree};

/// The crate that makes them.
const MAKER: &str = "crates/files/";

/// Files that write to what the kernel made: settings below `/proc` and `/sys`.
pub const KERNELS: &[&str] = &[
    "crates/cli/src/doctor/cores/keep.rs",
    "crates/cli/src/doctor/host.rs",
    "crates/lab/src/net/namespace.rs",
];

/// Crates of the daemon: what stops one of their threads stops a service or its operator.
const DAEMONS: [&str; 3] = ["crates/daemon/", "crates/l7/", "crates/model/"];

/// Files that read what the kernel made, or directories, by names that nobody else sets.
pub const READERS: &[&str] = &[
    "crates/daemon/src/alarm/rates.rs",
    "crates/daemon/src/footprint.rs",
    "crates/daemon/src/machine.rs",
    "crates/daemon/src/offspring.rs",
    "crates/daemon/src/packets/facts.rs",
    // What tests have in the place of the system.
    "crates/daemon/src/reconcile/fake.rs",
    "crates/daemon/src/report/vitals.rs",
    "crates/daemon/src/resting.rs",
    "crates/daemon/src/serve/tokens.rs",
    "crates/daemon/src/uplinks/write.rs",
    "crates/daemon/src/workers_time.rs",
    "crates/l7/src/plane/host.rs",
    "crates/l7/src/socket/holder.rs",
    "crates/l7/src/socket/option.rs",
    "crates/l7/src/socket/refusal.rs",
];

/// Names of functions that read whatever a name leads to, each with what must stand before it.
const READS: [(&str, &str); 3] = [("read", "fs"), ("read_to_string", "fs"), ("open", "File")];

/// Names of functions and types that make files or directories, each with what must stand before it, if anything must.
const MAKES: [(&str, Option<&str>); 10] = [
    ("create_dir", None),
    ("create_dir_all", None),
    ("DirBuilder", None),
    ("OpenOptions", None),
    ("create", Some("File")),
    ("create_new", Some("File")),
    ("options", Some("File")),
    ("write", Some("fs")),
    ("copy", Some("fs")),
    ("CREATE", Some("OFlags")),
];

/// Places where everybody may make files.
const SHARED: [&str; 3] = ["\"/tmp", "\"/var/tmp", "\"/dev/shm"];

/// Other ways to read, in the daemon.
pub fn reads(tree: &Tree) -> Vec<Offence> {
    let mut out = Vec::new();
    let daemons = |file: &&File| DAEMONS.iter().any(|crate_| file.path.starts_with(crate_));
    for file in tree.rust().filter(daemons).filter(|file| file.source_of().is_some()) {
        let found = read(file);
        if !READERS.contains(&file.path.as_str()) {
            out.extend(found);
        } else if found.is_empty() {
            let text = "reads nothing: take it off the list in `tests/src/places.rs`";
            out.push(Offence::new(&file.path, 0, text));
        }
    }
    out
}

fn read(file: &File) -> Vec<Offence> {
    let tokens = file.product_tokens();
    let reads = |at: &usize| {
        READS
            .iter()
            .any(|(name, before)| tokens[*at].text == *name && follows(&tokens, *at, before))
    };
    let text = |token: &Token<'_>| {
        format!("`{}` waits for a pipe and reads without end: use `files::regular`", token.text)
    };
    (0..tokens.len())
        .filter(reads)
        .map(|at| Offence::new(&file.path, tokens[at].line, text(&tokens[at])))
        .collect()
}

/// Other ways to make files and directories, and predictable names where everybody may make files.
pub fn offences(tree: &Tree) -> Vec<Offence> {
    let others = || tree.rust().filter(|file| !file.path.starts_with(MAKER));
    let mut out: Vec<Offence> = others().flat_map(temporary).collect();
    for file in others().filter(|file| file.source_of().is_some()) {
        let makes = made(file);
        if KERNELS.contains(&file.path.as_str()) {
            if makes.is_empty() {
                let text = "writes nothing: take it off the list in `tests/src/places.rs`";
                out.push(Offence::new(&file.path, 0, text));
            }
        } else {
            out.extend(makes);
        }
        out.extend(shared(file));
    }
    out
}

fn temporary(file: &File) -> Vec<Offence> {
    let found = file.tokens().into_iter().filter(|token| token.text == "temp_dir");
    let text = "a name in the temporary directory can be foreseen: use `files::TemporaryDir`";
    found.map(|token| Offence::new(&file.path, token.line, text)).collect()
}

fn made(file: &File) -> Vec<Offence> {
    let tokens = file.product_tokens();
    let makes = |at: &usize| {
        MAKES.iter().any(|(name, before)| {
            tokens[*at].text == *name && before.is_none_or(|before| follows(&tokens, *at, before))
        })
    };
    let text = |token: &Token<'_>| {
        format!("`{}` follows what another user put there: use `files::make`", token.text)
    };
    (0..tokens.len())
        .filter(makes)
        .map(|at| Offence::new(&file.path, tokens[at].line, text(&tokens[at])))
        .collect()
}

fn follows(tokens: &[Token<'_>], at: usize, before: &str) -> bool {
    at >= 2 && tokens[at - 1].text == "::" && tokens[at - 2].text == before
}

fn shared(file: &File) -> Vec<Offence> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found: Vec<usize> = file.product_tokens().iter().map(|token| token.line).collect();
    found.dedup();
    let names = |line: &usize| {
        let text = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        SHARED.iter().any(|place| text.contains(place))
    };
    let text = "everybody may make files there: use `files::TemporaryDir`";
    found.into_iter().filter(names).map(|line| Offence::new(&file.path, line, text)).collect()
}
