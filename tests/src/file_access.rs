//! Only the crate `files` creates files and directories, because it trusts no name that another user could have
//! created. Only `files` reads files in the daemon, because a name may lead to a pipe, a device or an endless file.
//!
//! The rule finds the functions and types that such code needs, by name. Tests may write inside their directories, but
//! must create those directories in the same way.

use crate::lexer::RustToken;
use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// The only crate that may create files.
const MAKER: &str = "crates/files/";

/// Files that write to kernel settings below `/proc` and `/sys`.
pub const KERNELS: &[&str] = &[
    "crates/cli/src/doctor/cores/undo_file.rs",
    "crates/cli/src/doctor/host.rs",
    "crates/lab/src/net/namespace.rs",
];

/// Crates of the daemon. A blocked thread there stops a service or the control API.
const DAEMONS: [&str; 3] = ["crates/daemon/", "crates/l7/", "crates/model/"];

/// Files that read kernel files or directories, by names that no other user can set.
pub const READERS: &[&str] = &[
    "crates/daemon/src/observability/alarms/utilization.rs",
    "crates/daemon/src/util/memory_footprint.rs",
    "crates/daemon/src/util/host_capacity.rs",
    "crates/daemon/src/util/orphan_reaper.rs",
    "crates/daemon/src/planes/packets/host_facts.rs",
    // Stand-ins for the system in tests.
    "crates/daemon/src/control/reconcile/fake.rs",
    "crates/daemon/src/observability/report/report_sources.rs",
    "crates/daemon/src/util/time_wait.rs",
    "crates/daemon/src/api_server/tokens.rs",
    "crates/daemon/src/planes/uplinks/kernel_state.rs",
    "crates/daemon/src/util/worker_cpu_time.rs",
    "crates/l7/src/plane/host.rs",
    "crates/l7/src/rt/run_delay.rs",
    "crates/l7/src/rt/socket/port_holder.rs",
    "crates/l7/src/rt/socket/socket_option.rs",
    "crates/l7/src/rt/socket/listen_error.rs",
];

/// Functions that read any path, each with the token that must precede it.
const READS: [(&str, &str); 3] = [("read", "fs"), ("read_to_string", "fs"), ("open", "File")];

/// Functions and types that create files or directories, each with the token that must precede it, if any.
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

/// Directories in which every user may create files.
const SHARED: [&str; 3] = ["\"/tmp", "\"/var/tmp", "\"/dev/shm"];

/// A file that names such a directory: what is made there is made by `files::create`, which uses nothing of others.
const GUARDED: &str = "crates/model/src/config/control/standard_paths.rs";

/// Calls in the daemon that read a path without the crate `files`.
pub fn read_offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let mut out = Vec::new();
    let daemons = |file: &&SourceFile| DAEMONS.iter().any(|crate_| file.path.starts_with(crate_));
    for file in tree.rust().filter(daemons).filter(|file| file.source_of().is_some()) {
        let found = file_reads(file);
        if !READERS.contains(&file.path.as_str()) {
            out.extend(found);
        } else if found.is_empty() {
            let text = "reads nothing: take it off the list in `tests/src/file_access.rs`";
            out.push(RuleBreach::new(&file.path, 0, text));
        }
    }
    out
}

fn file_reads(file: &SourceFile) -> Vec<RuleBreach> {
    let tokens = file.product_tokens();
    let reads = |at: &usize| {
        READS
            .iter()
            .any(|(name, before)| tokens[*at].text == *name && follows(&tokens, *at, before))
    };
    let text = |token: &RustToken<'_>| {
        format!("`{}` waits for a pipe and reads without end: use `files::regular`", token.text)
    };
    (0..tokens.len())
        .filter(reads)
        .map(|at| RuleBreach::new(&file.path, tokens[at].line, text(&tokens[at])))
        .collect()
}

/// Calls that create files or directories without the crate `files`, and predictable names in world-writable
/// directories.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let others = || tree.rust().filter(|file| !file.path.starts_with(MAKER));
    let mut out: Vec<RuleBreach> = others().flat_map(temporary_paths).collect();
    for file in others().filter(|file| file.source_of().is_some()) {
        let makes = created_files(file);
        if KERNELS.contains(&file.path.as_str()) {
            if makes.is_empty() {
                let text = "writes nothing: take it off the list in `tests/src/file_access.rs`";
                out.push(RuleBreach::new(&file.path, 0, text));
            }
        } else {
            out.extend(makes);
        }
        out.extend(shared_names(file));
    }
    out
}

fn temporary_paths(file: &SourceFile) -> Vec<RuleBreach> {
    let found = file.tokens().into_iter().filter(|token| token.text == "temp_dir");
    let text = "a name in the temporary directory can be foreseen: use `files::TemporaryDir`";
    found.map(|token| RuleBreach::new(&file.path, token.line, text)).collect()
}

fn created_files(file: &SourceFile) -> Vec<RuleBreach> {
    let tokens = file.product_tokens();
    let makes = |at: &usize| {
        MAKES.iter().any(|(name, before)| {
            tokens[*at].text == *name && before.is_none_or(|before| follows(&tokens, *at, before))
        })
    };
    let text = |token: &RustToken<'_>| {
        format!("`{}` follows what another user put there: use `files::make`", token.text)
    };
    (0..tokens.len())
        .filter(makes)
        .map(|at| RuleBreach::new(&file.path, tokens[at].line, text(&tokens[at])))
        .collect()
}

fn follows(tokens: &[RustToken<'_>], at: usize, before: &str) -> bool {
    at >= 2 && tokens[at - 1].text == "::" && tokens[at - 2].text == before
}

fn shared_names(file: &SourceFile) -> Vec<RuleBreach> {
    if file.path == GUARDED {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found: Vec<usize> = file.product_tokens().iter().map(|token| token.line).collect();
    found.dedup();
    let names = |line: &usize| {
        let text = lines.get(line.saturating_sub(1)).copied().unwrap_or_default();
        SHARED.iter().any(|place| text.contains(place))
    };
    let text = "everybody may make files there: use `files::TemporaryDir`";
    found.into_iter().filter(names).map(|line| RuleBreach::new(&file.path, line, text)).collect()
}
