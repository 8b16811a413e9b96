//! The reference of commands is generated from the built program's help, and the manual pages are well formed.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::skip::skip;
use tests::tree::top;

const PAGE: &str = "docs/reference/commands.md";
const HEAD: &str =
    "# Commands\n\nWhat `--help` says, of every command. This page is written from the program.\n";

/// The help text of a command.
fn help(words: &[String]) -> String {
    let mut command = Command::new(program());
    command.args(words).arg("--help").env("COLUMNS", "120").env("NO_COLOR", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let after = help.split_once("\nCommands:\n").map_or("", |(_, after)| after);
    let lines = after.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| {
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?;
        name.split(' ').next().map(str::to_owned)
    });
    names.filter(|name| name != "help").collect()
}

/// Appends the sections of a command and its subcommands.
fn write(words: &[String], page: &mut String) {
    let text = help(words);
    let name = std::iter::once("steelyard".to_owned()).chain(words.iter().cloned());
    let name = name.collect::<Vec<_>>().join(" ");
    page.push_str(&format!("\n## {name}\n\n```text\n"));
    for line in text.trim_end().lines() {
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page.push_str("```\n");
    for below in listed(&text) {
        write(&[words, &[below]].concat(), page);
    }
}

#[test]
fn the_reference_of_commands_is_what_the_program_says() {
    let mut fresh = HEAD.to_owned();
    write(&[], &mut fresh);
    let path = top().join(PAGE);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &fresh).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found.lines().zip(fresh.lines()).find(|(found, fresh)| found != fresh);
    assert!(
        found == fresh,
        "{PAGE} is not what the program says: UPDATE_EXPECT=1 cargo test -p tests --test commands; first at {differs:?}"
    );
    assert!(fresh.matches("\n## ").count() > 50, "commands are missing");
}

#[test]
fn manual_pages_of_commands_and_of_the_configuration_are_well_formed() {
    if Command::new("mandoc").arg("-Tlint").arg("/dev/null").output().is_err() {
        return skip("mandoc is not installed: tests/setup test");
    }
    let place = TestDir::new();
    let written = Command::new(program()).arg("man").arg(place.path()).output().unwrap();
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let mut pages: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() > 50, "{pages:?}");
    let mut linted = Command::new("mandoc");
    let linted = linted.args(["-Tlint", "-W", "warning"]).args(&pages).output().unwrap();
    assert!(linted.stdout.is_empty(), "{}", String::from_utf8_lossy(&linted.stdout));
    assert!(linted.stderr.is_empty(), "{}", String::from_utf8_lossy(&linted.stderr));
    let configuration = std::fs::read_to_string(place.path().join("steelyard.toml.5")).unwrap();
    let reference = std::fs::read_to_string(top().join("docs/reference/configuration.md")).unwrap();
    for header in reference.lines().filter_map(|line| line.strip_prefix("## `")) {
        let header = header.trim_end_matches('`').replace('-', "\\-");
        assert!(configuration.contains(&format!(".SH \\fB{header}\\fR\n")), "{header} is missing");
    }
}
