//! Messages for people hold no debug forms: names of variants, `Some(…)`, brackets of structs are Rust's notation. Nor do
//! they hold what the parser of TOML says, which names its grammar.
//!
//! The rule finds `{:?}` in format strings of the product code whose texts reach people. A text from outside may be
//! quoted so, and a `Duration` is read as it is written: those files are listed with the reason. It checks no types.

use crate::tree::{RuleBreach, SourceFile, SourceTree};

/// Crates whose texts reach people: answers, events, errors, results of health checks.
const CRATES: [&str; 7] = ["api", "cli", "daemon", "ha", "links", "model", "probe"];

/// A file that may use debug forms, and what it shows with them.
struct AllowedFile {
    path: &'static str,
    /// How many lines have one.
    lines: usize,
}

const fn allowed(path: &'static str, lines: usize) -> AllowedFile {
    AllowedFile { path, lines }
}

/// Times: a `Duration` reads `5s` or `1.5s`.
const TIMES: &[AllowedFile] = &[
    allowed("crates/api/src/client/error.rs", 1),
    allowed("crates/cli/src/bench/connect.rs", 1),
    allowed("crates/cli/src/bench/http.rs", 2),
    allowed("crates/cli/src/bench/stream.rs", 1),
    allowed("crates/daemon/src/app/run/process.rs", 1),
    allowed("crates/daemon/src/app/run/successor.rs", 1),
    allowed("crates/daemon/src/app/upgrade/old_process.rs", 1),
    allowed("crates/daemon/src/control/state_events.rs", 1),
    allowed("crates/daemon/src/discovery/dns_client.rs", 1),
    allowed("crates/daemon/src/observability/capture/triggers.rs", 1),
    allowed("crates/daemon/src/observability/hook.rs", 2),
    allowed("crates/daemon/src/planes/packets/alarms.rs", 1),
    allowed("crates/daemon/src/state/server_command.rs", 1),
    allowed("crates/model/src/capture.rs", 1),
    allowed("crates/model/src/config/load_shedding/verify.rs", 1),
    allowed("crates/model/src/config/privileged_settings.rs", 2),
];

/// Texts from outside in quotes, with their control characters escaped.
const QUOTED: &[AllowedFile] = &[
    allowed("crates/model/src/config/auth/verify_key_url.rs", 1),
    allowed("crates/model/src/config/decode/text_format.rs", 1),
    allowed("crates/model/src/config/heartbeat/verify/witness.rs", 2),
    allowed("crates/probe/src/mysql.rs", 2),
    allowed("crates/probe/src/postgres.rs", 1),
    allowed("crates/probe/src/script.rs", 1),
    allowed("crates/probe/src/send_expect.rs", 2),
    allowed("crates/probe/src/sip.rs", 1),
];

/// Implementations of `Debug` themselves.
const DEBUGS: &[AllowedFile] = &[allowed("crates/ha/src/keys.rs", 1)];

/// Files that see errors of the parser of TOML: they make plain words of them.
const TOML_ERRORS: [&str; 4] = [
    "crates/model/src/config/loader.rs",
    "crates/model/src/config/patch.rs",
    "crates/model/src/config/server_edit.rs",
    "crates/model/src/config/syntax_message.rs",
];

/// Debug forms and errors of the parser of TOML in texts for people.
pub fn offences(tree: &SourceTree) -> Vec<RuleBreach> {
    let shown = |file: &&SourceFile| file.source_of().is_some_and(|name| CRATES.contains(&name));
    let product = |file: &&SourceFile| file.source_of().is_some() && !file.is_unit_tests();
    let debug = tree.rust().filter(shown).filter(product).flat_map(file_offences);
    let toml = tree.rust().filter(product).flat_map(toml_offences);
    debug.chain(toml).collect()
}

fn toml_offences(file: &SourceFile) -> Vec<RuleBreach> {
    let named = ["toml::de::Error", "toml_edit::TomlError"];
    let lines = file.text.lines().enumerate();
    let found = lines.filter(|(_, line)| named.iter().any(|name| line.contains(name)));
    let listed = TOML_ERRORS.contains(&file.path.as_str());
    found
        .filter(|_| !listed)
        .map(|(at, _)| {
            let text = "the parser's text would reach people: `syntax_message` has plain words";
            RuleBreach::new(&file.path, at + 1, text)
        })
        .collect()
}

fn file_offences(file: &SourceFile) -> Vec<RuleBreach> {
    let product = file.text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines: Vec<usize> = product
        .lines()
        .enumerate()
        .filter(|(_, line)| shows_debug_form(line))
        .map(|(at, _)| at + 1)
        .collect();
    let mut listed = TIMES.iter().chain(QUOTED).chain(DEBUGS);
    let expected = listed.find(|one| one.path == file.path).map_or(0, |one| one.lines);
    if lines.len() == expected {
        return Vec::new();
    }
    if lines.len() < expected {
        let text = format!(
            "{} debug forms, {expected} are listed: shrink the list in `tests/src/debug_forms.rs`",
            lines.len()
        );
        return vec![RuleBreach::new(&file.path, 0, text)];
    }
    let breach = |line: &usize| {
        RuleBreach::new(&file.path, *line, "a debug form in a text for people: write it in words")
    };
    lines.iter().skip(expected).map(breach).collect()
}

/// Whether a line has a placeholder such as `{name:?}` or `{:.1?}` outside of assertions and comments.
fn shows_debug_form(line: &str) -> bool {
    if line.trim_start().starts_with("//") || line.contains("assert") {
        return false;
    }
    line.match_indices("?}").any(|(at, _)| {
        let placeholder = line[..at].rsplit('{').next().unwrap_or_default();
        placeholder.contains(':')
            && placeholder
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "_.:#".contains(letter))
    })
}
