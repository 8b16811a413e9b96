//! No text causes a panic, and every list has a limit.

use model::config::load;
use proptest::prelude::*;

use super::support::{examples, good};

/// Every result can be printed.
fn load_and_render(text: &str) {
    match load(text, "hostile.toml") {
        Ok(checked) => {
            let explained = model::config::explain(&checked);
            let reloaded = load(&explained, "explained.toml");
            assert_eq!(reloaded.map(|reloaded| reloaded.config), Ok(checked.config), "{explained}");
        }
        Err(findings) => {
            assert!(findings.errors().next().is_some() || findings.unlisted > 0);
            let shown = findings.to_string();
            assert!(!shown.is_empty() && !shown.contains(|c: char| c.is_control() && c != '\n'));
            for finding in &findings.findings {
                assert!(finding.line >= 1 && finding.column >= 1 && finding.width >= 1);
            }
        }
    }
}

const PIECES: &[&str] = &[
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\"",
    "'",
    "\"\"\"",
    "#",
    "\n",
    "\r\n",
    "\t",
    "\\",
    "\\u0000",
    "\u{1b}[31m",
    "é",
    "\u{feff}",
    "global",
    "service",
    "pool",
    "servers",
    "probe",
    "listen",
    "off",
    "auto",
    "true",
    "-1",
    "0x10",
    "1e9",
    "nan",
    "1979-05-27",
    "99999999999999999999",
    "\":80\"",
    "\"30s\"",
    "30",
    "{ }",
    "[ ]",
    "a.b.c.d = 1\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}") {
        load_and_render(&text);
    }

    #[test]
    fn mutated_examples_are_answered(
        which in 0usize..3,
        cuts in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..40, 0..PIECES.len()), 1..6),
    ) {
        let mut text: Vec<char> = examples()[which].1.chars().collect();
        for (at, length, piece) in cuts {
            let at = at.index(text.len().max(1)).min(text.len());
            let end = (at + length).min(text.len());
            text.splice(at..end, PIECES[piece].chars());
        }
        load_and_render(&text.into_iter().collect::<String>());
    }

    #[test]
    fn every_value_of_an_example_can_be_anything(line in any::<prop::sample::Index>(), piece in 0..PIECES.len()) {
        let text = examples()[2].1.clone();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let at = line.index(lines.len());
        if let Some((key, _)) = lines[at].split_once(" = ") {
            lines[at] = format!("{key} = {}", PIECES[piece]);
        }
        load_and_render(&lines.join("\n"));
    }
}

#[test]
fn depth_and_size_are_bounded() {
    load_and_render(&format!("a = {}", "[".repeat(100_000)));
    load_and_render(&format!("a = {}1{}", "{ a = ".repeat(5_000), " }".repeat(5_000)));
    load_and_render(&format!("[{}a]", "a.".repeat(10_000)));
    let large = "#".repeat(model::config::loader::FILE_MAX + 1);
    let findings = load(&large, "large.toml").unwrap_err();
    assert!(findings.to_string().contains("more than 4194304"), "{findings}");
    load_and_render(&large[1..]);
}

#[test]
fn counts_are_bounded_and_many_mistakes_are_cut_off() {
    let servers: String = (0..131_073).map(|n| format!("\"h{n}:1\",\n")).collect();
    let rest = "[service.s]\nlisten = \":1\"\nforward = \"http\"\npool = \"p\"\n";
    let findings =
        load(&format!("{rest}[pool.p]\nservers = [{servers}]\n"), "many.toml").unwrap_err();
    let messages: Vec<_> = findings.errors().map(|f| f.message.as_str()).collect();
    assert_eq!(messages, ["the file has more than 131072 servers"]);
    let pools: String =
        (0..10_001).map(|n| format!("[pool.p{n}]\nservers = [\"h:1\"]\n")).collect();
    let findings = load(&format!("{rest}{pools}"), "many.toml").unwrap_err();
    assert!(findings.errors().any(|f| f.message.contains("more than 10000")));
    let unknown: String = (0..1_500).map(|n| format!("unknown{n} = 1\n")).collect();
    let findings = load(&unknown, "unknown.toml").unwrap_err();
    assert_eq!((findings.findings.len(), findings.unlisted > 0), (1_000, true));
    assert!(findings.to_string().ends_with("more\n"));
}

// Rows: I05
#[test]
fn ten_thousand_servers_are_read() {
    let servers: String = (0..10_000)
        .map(|n| format!("\"10.{}.{}.{}:80\",\n", n / 65_536, n / 256 % 256, n % 256))
        .collect();
    let text = format!(
        "[service.s]\nlisten = \":1\"\nforward = \"http\"\npool = \"p\"\n[pool.p]\nprobe = {{ http = \"/\" }}\nservers = [{servers}]\n"
    );
    assert_eq!(good(&text).config.pools["p"].servers.len(), 10_000);
}
