//! Texts that no message may hold: Rust's notation, and what libraries say of their own grammar.

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};

/// Parts of raw texts.
const RAW: [&str; 31] = [
    "os error",
    "OtherError",
    "Other(",
    "Some(",
    "None)",
    "Err(",
    "..=",
    "{ kind:",
    "entity ",
    "invalid digit",
    "ParseIntError",
    "to fit in target type",
    "float literal",
    "expected value at",
    "EOF while",
    "literal string",
    "basic string",
    "duplicate key",
    "TOML parse error",
    "lookup address information",
    "invalid peer certificate",
    "fatal alert",
    "panicked",
    "unwrap",
    "missing field",
    "duplicate field",
    "unknown field",
    "unknown variant",
    "invalid type",
    "untagged enum",
    "trailing characters",
];

/// A command that fails, and what its message says: the object, the fact, what to do.
pub struct DailyMistake<'a> {
    pub arguments: Vec<&'a str>,
    pub says: &'a [&'a str],
}

impl<'a> DailyMistake<'a> {
    pub fn new(arguments: impl IntoIterator<Item = &'a str>, says: &'a [&'a str]) -> Self {
        DailyMistake { arguments: arguments.into_iter().collect(), says }
    }

    /// Runs the command and checks its message.
    pub fn holds(&self) {
        let mut command = Command::new(program());
        command.args(&self.arguments);
        refuses(&self.arguments.join(" "), &run_command(command), self.says);
    }
}

/// The command failed with a message in plain words that says these parts.
pub fn refuses(what: &str, done: &CommandOutput, says: &[&str]) {
    assert!([1, 2].contains(&done.code), "{what}: {done:?}");
    for part in says {
        assert!(done.stderr.contains(part), "{what}: `{part}` is missing in:\n{}", done.stderr);
    }
    is_plain(what, &done.stderr);
}

/// No raw text is in the message.
pub fn is_plain(what: &str, message: &str) {
    for raw in RAW {
        assert!(!message.contains(raw), "{what}: `{raw}` is the text of a library:\n{message}");
    }
}
