//! Upgrades and downgrades: what earlier versions accepted and kept is taken up, and what is written now has every field
//! that they read.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::{CliEnvironment, run_command};
use tests::e2e::servers::{addresses, origin};
use tests::tree::top;

/// The addresses of servers in the recorded state.
const RECORDED: [&str; 3] = ["127.0.0.1:28081", "127.0.0.1:28082", "127.0.0.1:28083"];

/// A folder for each version.
fn versions() -> Vec<PathBuf> {
    let entries = fs::read_dir(top().join("tests/compat")).unwrap();
    let folders: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    assert!(!folders.is_empty());
    folders
}

fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.extension().is_some_and(|it| it == ending)).collect()
}

#[test]
fn configurations_of_earlier_versions_are_accepted() {
    for version in versions() {
        let configurations = files(&version, "toml");
        assert!(configurations.len() >= 4, "{version:?}");
        for file in configurations {
            let mut command = Command::new(program());
            command.args(["check", "--without-files"]).arg(&file);
            let said = run_command(command);
            assert_eq!(said.code, 0, "{file:?}: {said:?}");
        }
    }
}

#[test]
fn state_of_earlier_versions_is_taken_up_and_could_be_read_by_them_again() {
    for version in versions() {
        let origins = [origin("a"), origin("b"), origin("c")];
        let servers = addresses(&origins);
        let place = CliEnvironment::new(&BalancerConfig::http(&servers[..2]).quiet());
        let state = place.dir().join("state");
        copy_state(&version.join("state"), &state, |text| {
            let moved = RECORDED.iter().zip(&servers);
            moved.fold(text, |text, (from, to)| text.replace(from, &to.to_string()))
        });
        let process = place.start();
        let said = process.output();
        assert!(!said.contains("state-set-aside") && !said.contains("not-saved"), "{said}");
        let status = place.status();
        let found = |name: &str| {
            let of_name = status.pools[0].servers.iter().find(|server| server.name == name);
            of_name.unwrap_or_else(|| panic!("no {name}: {said}")).clone()
        };
        assert_eq!(found("a").state.name(), "drain", "the order holds");
        assert_eq!((found("b").weight, found("c").weight), (7, 1), "so does what was added");
        let audit = place.run_verb_ok(&["audit", "--json"]).stdout;
        for action in ["drain", "weight 7", "add", "apply"] {
            assert!(audit.contains(&format!("\"action\": \"{action}\"")), "{action}: {audit}");
        }
        let generations = place.run_verb_ok(&["generations"]).stdout;
        assert!(generations.lines().count() > 3, "{generations}");
        // The orders that the earlier version carried out, by this one.
        place.run_verb_ok(&["server", "weight", "web/b", "8"]);
        place.run_verb_ok(&["server", "enable", "web/a"]);
        place.run_verb_ok(&["server", "drain", "web/a"]);
        drop(process);
        compare_state(&version.join("state"), &state);
    }
}

/// Copies with the modes that the daemon gives.
fn copy_state(from: &Path, to: &Path, change: impl Fn(String) -> String + Copy) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_state(&path, &target, change);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        // The digest of a generation is that of its text.
        let kept = path.parent().is_some_and(|parent| parent.ends_with("generations"));
        fs::write(&target, if kept { text } else { change(text) }).unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    }
}

/// Every field of the earlier version's files is in those of now, with a value of the same kind.
fn compare_state(before: &Path, now: &Path) {
    let read = |path: PathBuf| -> Value {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    let pair = |name: &str| [before, now].map(|state| read(state.join(name)));
    let [old, new] = pair("servers.json");
    has_fields(&old, &new, "servers.json");
    let newest = files(&now.join("generations"), "json").into_iter().max().unwrap();
    has_fields(&read(before.join("generations/00000001.json")), &read(newest), "generation");
    let line = |state: &Path, action: &str| -> Value {
        let text = fs::read_to_string(state.join("audit.jsonl")).unwrap();
        let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.rfind(|record| record["action"] == action).unwrap()
    };
    has_fields(&line(before, "drain"), &line(now, "drain"), "audit.jsonl");
}

fn has_fields(old: &Value, new: &Value, at: &str) {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in old {
                let at = format!("{at}.{key}");
                let there = new.get(key).unwrap_or_else(|| panic!("{at} is not written any more"));
                has_fields(value, there, &at);
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for (place, value) in old.iter().enumerate().take(new.len()) {
                has_fields(value, &new[place], &format!("{at}[{place}]"));
            }
        }
        (Value::Null, _) => {}
        _ => {
            let kind = |value: &Value| std::mem::discriminant(value);
            assert_eq!(kind(old), kind(new), "{at} was {old} and is {new}");
        }
    }
}
