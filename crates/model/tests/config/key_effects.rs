//! Every key of the schema has an effect: the full example sets each one, and removing any of them changes the meaning.

use std::collections::BTreeSet;

use model::config::load;

use super::support::{examples, good, repository};

fn full() -> String {
    examples().into_iter().find(|(name, _)| name == "full.toml").unwrap().1
}

#[test]
fn every_key_of_the_reference_stands_in_the_full_example() {
    let reference = std::fs::read_to_string(repository("docs/reference/configuration.md")).unwrap();
    let full = full();
    let missing: BTreeSet<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|key| !full.contains(&format!("{key} = ")) && !full.contains(&format!(".{key}]")))
        .collect();
    assert_eq!(missing, BTreeSet::new());
}

#[test]
fn every_setting_of_the_full_example_acts() {
    assert_eq!(settings_without_effect(&full()), Vec::<String>::new());
}

#[test]
fn every_setting_of_its_explanation_acts() {
    let explained = model::config::explain(&good(&full()));
    // Inherited settings have an effect only where nothing is set, and this example sets everything.
    let own = &explained[explained.find("[service.").unwrap()..];
    let handed_down =
        |line: &String| line.starts_with("weight = ") || line.starts_with("connections = ");
    let idle: Vec<String> = settings_without_effect(&explained)
        .into_iter()
        .filter(|line| own.contains(line.as_str()))
        .collect();
    assert!(idle.iter().all(handed_down), "{idle:#?}");
}

/// Lines whose setting can change without a change of the configuration.
fn settings_without_effect(text: &str) -> Vec<String> {
    let whole = good(text).config;
    let lines: Vec<&str> = text.lines().collect();
    let changes: Vec<LineChange> =
        lines.iter().enumerate().filter_map(|(at, line)| LineChange::of(at, line)).collect();
    assert!(changes.len() > 40, "{}", changes.len());
    let idle = |change: &&LineChange| {
        let mut changed = lines.clone();
        changed[change.at] = &change.text;
        // Either the meaning changes, or the change contradicts another written setting.
        load(&changed.join("\n"), "x").is_ok_and(|checked| checked.config == whole)
    };
    // Each configuration is loaded for itself, so that all processors have a share.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let share = changes.len().div_ceil(processors);
    std::thread::scope(|scope| {
        let shares = changes.chunks(share);
        let loading: Vec<_> = shares
            .map(|share| scope.spawn(|| share.iter().filter(idle).collect::<Vec<_>>()))
            .collect();
        let idle = loading.into_iter().flat_map(|share| share.join().unwrap());
        idle.map(|change| lines[change.at].to_owned()).collect()
    })
}

/// A line with another value of its setting.
struct LineChange {
    at: usize,
    text: String,
}

impl LineChange {
    fn of(at: usize, line: &str) -> Option<LineChange> {
        let (key, value) = line.split(" # ").next()?.split_once(" = ")?;
        let other = different_value(key, value.trim())?;
        Some(LineChange { at, text: format!("{key} = {other}") })
    }
}

/// Another value of the same kind.
fn different_value(key: &str, value: &str) -> Option<String> {
    let text = value.trim_matches('"');
    Some(match (key, text) {
        ("name" | "pool" | "http" | "tcp", _) => return None,
        (_, text) if text.starts_with('{') => return None,
        (_, "true") => "false".into(),
        (_, "false") => "true".into(),
        ("path-normalization", "refuse") => "\"raw\"".into(),
        ("path-normalization", _) => "\"refuse\"".into(),
        ("path-case", "exact") => "\"ignore\"".into(),
        ("path-case", _) => "\"exact\"".into(),
        ("value-case", _) => "\"exact\"".into(),
        ("host-part" | "host-regex", _) => "\"other\"".into(),
        ("header-list" | "header-regex", _) => "\"x-other: b\"".into(),
        ("mode", _) => "\"0640\"".into(),
        ("all-down", "spread") => "\"refuse\"".into(),
        ("all-down", _) => "\"spread\"".into(),
        ("format", "json") => "\"common\"".into(),
        ("format", _) => "\"json\"".into(),
        ("forward", _) => return None,
        // Inherited: the default of `[global]` is written again at each service.
        ("client-from", "connection") => return None,
        ("client-from", _) => "\"forwarded\"".into(),
        ("field-names", _) => "\"refuse\"".into(),
        ("unknown-sni", _) => "\"require\"".into(),
        ("refuse", _) => "\"handshake\"".into(),
        ("initial", "up") => return None,
        ("initial", _) => "\"up\"".into(),
        ("by", "round-robin") => "\"random\"".into(),
        ("by", _) => "\"round-robin\"".into(),
        ("state", "enabled") => "\"drain\"".into(),
        ("state", text) if !text.starts_with('/') => "\"enabled\"".into(),
        ("x-forwarded" | "forwarded", "keep") => "\"remove\"".into(),
        ("x-forwarded" | "forwarded", _) => "\"keep\"".into(),
        ("status", _) => "204".into(),
        ("source", _) => "[\"10.9.9.9\"]".into(),
        ("listen", _) => "\"198.51.100.1:1\"".into(),
        ("address", _) => "\"198.51.100.1:1\"".into(),
        ("probe" | "path" | "keep-alive" | "metrics", _) => return None,
        ("target" | "socket" | "state", _) => "\"/tmp/other\"".into(),
        ("host" | "congestion" | "interface", _) => "\"other\"".into(),
        ("send-buffer" | "receive-buffer", _) => "\"9MiB\"".into(),
        ("user-timeout" | "defer-accept" | "total", "system" | "off") => "\"33s\"".into(),
        (_, "auto" | "off" | "system" | "server" | "any") => "107".into(),
        (_, text) if text.ends_with("bit/s") => "\"3kbit/s\"".into(),
        (_, text) if text.ends_with('B') => "\"59KiB\"".into(),
        (_, text) if text.parse::<u64>().is_ok() => (text.parse::<u64>().unwrap() + 1).to_string(),
        (_, text) if text.ends_with(['s', 'm', 'h']) => "\"400ms\"".into(),
        _ => return None,
    })
}
