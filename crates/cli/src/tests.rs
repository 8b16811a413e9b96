//! Command lines as rows, and the tables that are made from them.

use clap::Parser;
use clap::error::ErrorKind;

use super::{Cli, command};

mod pages;

#[test]
fn the_table_of_verbs_is_sound() {
    command().debug_assert();
}

#[test]
fn what_is_taken_and_what_is_not() {
    for (line, expected) in READING.iter().chain(ORDERING) {
        assert_eq!(refusal(line), *expected, "steelyard {line}");
    }
}

#[test]
fn a_configuration_is_named_by_a_word_or_by_an_option_and_once() {
    for verb in ["check", "validate", "run", "capacity", "support", "doctor zones"] {
        for (file, expected) in [
            ("", None),
            ("shop.toml", None),
            ("-c shop.toml", None),
            ("--config=shop.toml", None),
            ("-c a.toml b.toml", Some(ErrorKind::ArgumentConflict)),
        ] {
            assert_eq!(refusal(&format!("{verb} {file}")), expected, "{verb} {file}");
        }
    }
    for verb in ["apply", "plan-change", "diff"] {
        for (file, expected) in [
            ("", Some(ErrorKind::MissingRequiredArgument)),
            ("shop.toml", None),
            ("-c -", None),
            ("a.toml --config b.toml", Some(ErrorKind::ArgumentConflict)),
        ] {
            assert_eq!(refusal(&format!("{verb} {file}")), expected, "{verb} {file}");
        }
    }
}

/// Why a command line is refused, if it is.
fn refusal(line: &str) -> Option<ErrorKind> {
    let words = std::iter::once("steelyard").chain(line.split_whitespace());
    Cli::try_parse_from(words).err().map(|error| error.kind())
}

#[test]
fn every_verb_explains_itself_with_examples() {
    let mut seen = Vec::new();
    walked(&command(), "steelyard", &mut seen);
    for (words, help) in seen {
        assert_eq!(help.matches("Examples:").count(), 1, "{words}: {help}");
        let example = help.lines().any(|line| line.starts_with(&format!("  {words}")));
        assert!(example, "{words}: {help}");
    }
}

/// Every command and subcommand, by its words.
fn walked(command: &clap::Command, words: &str, seen: &mut Vec<(String, String)>) {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let words = format!("{words} {}", verb.get_name());
        assert!(verb.get_about().is_some(), "{words}");
        let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
        walked(verb, &words, seen);
        seen.push((words, help));
    }
}

#[test]
fn every_verb_names_its_exit_codes_once() {
    let mut seen = Vec::new();
    walked(&command(), "steelyard", &mut seen);
    assert!(seen.len() > 30, "{}", seen.len());
    for (words, help) in seen {
        assert_eq!(help.matches("Exit codes:").count(), 1, "{words}: {help}");
    }
}

/// Lines that look, or make files.
const READING: &[(&str, Option<ErrorKind>)] = &[
    ("status", None),
    ("status web --watch --interval 500ms", None),
    ("status --json --socket /tmp/x.sock", None),
    ("capacity --live --watch --json --remote lb.example", None),
    ("status shop,api-* --watch", None),
    ("explain slow shop --watch --interval 5s --json", None),
    ("explain server web --watch", None),
    ("explain users --interval 5s", Some(ErrorKind::MissingRequiredArgument)),
    ("capacity --watch", Some(ErrorKind::MissingRequiredArgument)),
    ("capacity --live --calibrate", Some(ErrorKind::ArgumentConflict)),
    ("status --interval 1s", Some(ErrorKind::MissingRequiredArgument)),
    ("status --watch --interval 5", Some(ErrorKind::ValueValidation)),
    ("report --interval 2s", None),
    ("report shop --watch", None),
    ("report --interval 0s", Some(ErrorKind::ValueValidation)),
    ("report --interval 61s", Some(ErrorKind::ValueValidation)),
    ("top", None),
    ("top --interval 500ms --view causes", None),
    ("top --once --socket /tmp/x.sock", None),
    ("top --interval 0s", Some(ErrorKind::ValueValidation)),
    ("top --interval 61s", Some(ErrorKind::ValueValidation)),
    ("top --view rates", Some(ErrorKind::InvalidValue)),
    ("top --json", Some(ErrorKind::UnknownArgument)),
    ("check --config steelyard.toml --explain", None),
    ("check -c - --json", None),
    ("convert haproxy.cfg -o new.toml --all", None),
    ("convert - --from dispatcher --json", None),
    ("convert", Some(ErrorKind::MissingRequiredArgument)),
    ("convert x --from iis", Some(ErrorKind::InvalidValue)),
    ("plan-change steelyard.toml", None),
    ("plan-change", Some(ErrorKind::MissingRequiredArgument)),
    ("status --remote lb.example --token-file t --ca ca.pem", None),
    ("top --remote lb1 --certificate c.pem --key k.pem --pin sha256:1", None),
    ("generations", None),
    ("generations --watch --interval 1s --json", None),
    ("audit --since 2h --watch", None),
    ("audit --interval 1s", Some(ErrorKind::MissingRequiredArgument)),
    ("capture list --watch", None),
    ("capture show --watch", Some(ErrorKind::UnknownArgument)),
    ("study", None),
    ("study farm --quick --set page=1MiB --out farm.html", None),
    ("completions bash", None),
    ("completions tcsh", Some(ErrorKind::InvalidValue)),
    ("man /tmp", None),
    ("", Some(ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)),
    ("stauts", Some(ErrorKind::InvalidSubcommand)),
    ("--version", Some(ErrorKind::DisplayVersion)),
    ("status --help", Some(ErrorKind::DisplayHelp)),
];

/// Lines that change the running system, or start a process.
const ORDERING: &[(&str, Option<ErrorKind>)] = &[
    ("init", None),
    ("init shop.toml --listen :80 --servers a:1,b:2 --forward tcp --force", None),
    ("init --forward udp", Some(ErrorKind::InvalidValue)),
    ("run", None),
    ("run -c shop.toml --takeover --events json", None),
    ("run --events xml", Some(ErrorKind::InvalidValue)),
    ("run shop.toml", None),
    ("apply --if-generation 7 -", None),
    ("apply --if-generation seven x.toml", Some(ErrorKind::ValueValidation)),
    ("rollback", None),
    ("rollback --save", None),
    ("apply --save --no-save x.toml", Some(ErrorKind::ArgumentConflict)),
    ("server drain */rack1-*", None),
    ("rollback 4", None),
    ("rollback -4", Some(ErrorKind::UnknownArgument)),
    ("server drain web/a,web/b", None),
    ("server enable web/*", None),
    ("server disable web", Some(ErrorKind::ValueValidation)),
    ("server weight web/a 256", None),
    ("server weight web/a", None),
    ("server weight web/a 257", Some(ErrorKind::ValueValidation)),
    ("server drain web/a 3", Some(ErrorKind::UnknownArgument)),
    ("server", Some(ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand)),
    ("takeover front --give --force", None),
    ("takeover --give --release", Some(ErrorKind::ArgumentConflict)),
    ("takeover --force", Some(ErrorKind::MissingRequiredArgument)),
    ("stop --timeout 30s --no-wait", None),
    ("stop --timeout 30", Some(ErrorKind::ValueValidation)),
    ("lab up wan.toml --name second", None),
    ("lab up", Some(ErrorKind::MissingRequiredArgument)),
    ("lab exec --lab wan client -- ip addr", None),
    ("lab exec client", Some(ErrorKind::MissingRequiredArgument)),
    ("lab down wan --all", Some(ErrorKind::ArgumentConflict)),
    ("try", None),
    ("try --once --json", None),
    ("try --json", Some(ErrorKind::MissingRequiredArgument)),
];
