//! Mistakes in configurations: the syntax of TOML, wrong types, ranges, names, and files that it names.

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;

use crate::raw_text::refuses;

/// A mistake in the text, and what the message says of it.
struct TextMistake {
    text: &'static str,
    says: &'static [&'static str],
}

const fn mistake(text: &'static str, says: &'static [&'static str]) -> TextMistake {
    TextMistake { text, says }
}

const SYNTAX: [TextMistake; 16] = [
    mistake("[global]\nworkers = \"x", &["c.toml:2:", "no closing `\"`"]),
    mistake("[global", &["c.toml:1:8", "not closed: expected `]`"]),
    mistake("[global]\nworkers =", &["c.toml:2:", "text stands in double quotes"]),
    mistake("[global]\nworkers = 1\nworkers = 2", &["c.toml:3:1", "stands twice"]),
    mistake("[global]\n[global]", &["c.toml:2:", "stands twice"]),
    mistake("[global]\nname = \"\\q\"", &["c.toml:2:", "write `\\\\` for a backslash"]),
    mistake("[pool.p]\nservers = [\"a\"", &["c.toml:2:", "a list is not closed"]),
    mistake("[global]\ncontrol = { socket = \"x\"", &["c.toml:2:", "expected `}`"]),
    mistake("[global]\nworkers = 1 2", &["c.toml:2:", "text stands in double quotes"]),
    mistake("[global]\nworkers = two", &["c.toml:2:11", "text stands in double quotes"]),
    mistake("[global]\nworkers = 1__2", &["c.toml:2:", "between two digits"]),
    mistake("[global]\nworkers = 2020-13-45", &["c.toml:2:11", "this is no date"]),
    mistake("workers: 2", &["c.toml:1:", "write KEY = VALUE"]),
    mistake("[service.a]\nlisten = “:80”", &["c.toml:2:10", "text stands in double quotes"]),
    mistake("[service.a]\nlisten = \":80\";", &["c.toml:2:15", "nothing may follow the value"]),
    mistake("[pool.p]\nservers = [\"a\" \"b\"]", &["c.toml:2:", "comma is missing"]),
];

/// Changed lines of a good configuration, and what the message says.
const VALUES: [TextMistake; 14] = [
    mistake("timeout = \"abc\"", &["service.web.timeout", "expected a table", "idle"]),
    mistake("lisen = \"x\"", &["`lisen` is not a key of a service", "did you mean listen?"]),
    mistake("protocol = 7", &["service.web.protocol", "expected"]),
    mistake("timeout = { idle = \"5x\" }", &["timeout.idle", "a time with its unit"]),
    mistake("timeout = { idle = \"100d\" }", &["timeout.idle", "\"7d\""]),
    mistake("limit = { header-bytes = \"5XB\" }", &["limit.header-bytes", "expected"]),
    mistake("trust = [\"10.0.0/8\"]", &["`10.0.0/8` is not a network", "\"10.0.0.0/8\""]),
    mistake("trust = [\"10.0.0.0/33\"]", &["`10.0.0.0/33` is not a network"]),
    mistake(
        "rule = [{ name = \"a\", when = { path-regex = \"(\" }, deny = true }]",
        &["rule[0].when.path-regex", "not a regular expression"],
    ),
    mistake(
        "rule = [{ name = \"a\", pool = \"pp\" }]",
        &["there is no pool `pp`", "did you mean \"p\"?"],
    ),
    mistake("tls = { certificates = [\"a.pem\"] }", &["`a.pem`", "a path that begins with `/`"]),
    mistake(
        "tls = \"/nonexistent/a.pem\"",
        &["/nonexistent/a.pem", "No such file", "check the path"],
    ),
    mistake(
        "error-page = [{ status = 700, file = \"/x\" }]",
        &["error-page[0].status", "expected"],
    ),
    mistake("forwarded = \"maybe\"", &["service.web.forwarded", "expected"]),
];

/// A configuration with one more line of the service.
fn with_line(line: &str) -> String {
    format!(
        "[service.web]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"p\"\n{line}\n\
         [pool.p]\nservers = [\"127.0.0.1:8081\"]\n"
    )
}

fn check(dir: &TestDir, text: &str, says: &[&str]) {
    dir.write("c.toml", text);
    let mut command = Command::new(program());
    command.args(["check", "c.toml"]).current_dir(dir.path());
    refuses(text, &run_command(command), says);
}

#[test]
fn mistakes_of_syntax_are_named_in_plain_words() {
    let dir = TestDir::new();
    for TextMistake { text, says } in SYNTAX {
        check(&dir, text, says);
    }
}

#[test]
fn wrong_values_are_named_with_what_was_expected() {
    let dir = TestDir::new();
    for TextMistake { text, says } in VALUES {
        check(&dir, &with_line(text), says);
    }
    let good = with_line("");
    for (from, to, says) in [
        ("\"http\"", "\"htp\"", ["service.web.forward", "did you mean \"http\"?"]),
        (":8081", ":99999", ["127.0.0.1:99999", "from 1 to 65535"]),
        (":8080\"", "\"", ["service.web.listen", "the port is missing"]),
        ("[pool.p]", "[pol.p]", ["`pol` is not a key of the file", "did you mean pool?"]),
    ] {
        check(&dir, &good.replace(from, to), &says);
    }
    let weight = "servers = [{ address = \"127.0.0.1:8081\", weight = 300 }]";
    let text = good.replace("servers = [\"127.0.0.1:8081\"]", weight);
    check(&dir, &text, &["servers[0].weight: too large", "0 to 256"]);
    check(&dir, &text.replace("300", "-1"), &["servers[0].weight", "0 to 256"]);
}
