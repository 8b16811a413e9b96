//! The options of the command line that had other names before: for the program, which takes those for one minor version
//! more, and their page.

/// An option of a verb, and the name that it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedFlag {
    /// The words of the verb, with single blanks: `bench stream`.
    pub verb: &'static str,
    pub former_name: &'static str,
    pub name: &'static str,
}

impl RenamedFlag {
    const fn new(verb: &'static str, former_name: &'static str, name: &'static str) -> RenamedFlag {
        RenamedFlag { verb, former_name, name }
    }
}

/// By verb.
pub const RENAMED_FLAGS: [RenamedFlag; 16] = [
    RenamedFlag::new("agent", "--count", "--metrics"),
    RenamedFlag::new("agent", "--every", "--interval"),
    RenamedFlag::new("agent", "--line", "--text"),
    RenamedFlag::new("apply", "--level", "--overwrite-peer"),
    RenamedFlag::new("bench stream", "--carrier", "--transport"),
    RenamedFlag::new("bench stream", "--least", "--min-runs"),
    RenamedFlag::new("bench stream", "--most", "--max-runs"),
    RenamedFlag::new("bench stream", "--way", "--direction"),
    RenamedFlag::new("decap load", "--takes", "--encapsulation"),
    RenamedFlag::new("doctor cores", "--kept", "--undo-file"),
    RenamedFlag::new("lab down", "--records", "--state-dir"),
    RenamedFlag::new("lab exec", "--records", "--state-dir"),
    RenamedFlag::new("lab list", "--records", "--state-dir"),
    RenamedFlag::new("lab up", "--records", "--state-dir"),
    RenamedFlag::new("stop", "--limit", "--timeout"),
    RenamedFlag::new("top", "--every", "--interval"),
];
