//! Every keyword of keepalived's manual, in its block, with few and with many values.

use std::fmt::Write as _;

use convert::dialect::Dialect;
use proptest::prelude::*;

use super::generated::{ChosenLine, cases, lines, seed, words};
use super::names::{DirectiveName, DirectiveNames};
use super::{forgotten, outcome};

const ARGUMENTS: [&str; 12] =
    ["3", "10.0.0.9", "eth1", "on", "/x", "TCP", "a", "30", "NAT", "weight", "2", "\"/bin/a b\""];

const CHECKERS: [&str; 10] = [
    "HTTP_GET",
    "SSL_GET",
    "TCP_CHECK",
    "SMTP_CHECK",
    "DNS_CHECK",
    "MISC_CHECK",
    "BFD_CHECK",
    "UDP_CHECK",
    "PING_CHECK",
    "FILE_CHECK",
];

/// Blocks in an instance.
const IN_INSTANCE: [&str; 9] = [
    "authentication",
    "unicast_peer",
    "virtual_ipaddress",
    "virtual_ipaddress_excluded",
    "virtual_routes",
    "virtual_rules",
    "track_interface",
    "track_script",
    "track_file",
];

/// The keyword on a line of its own, or as a block.
fn directive(row: &DirectiveName, words: &str) -> String {
    let name = &row.columns[1];
    match row.rest[0].as_str() {
        "block" => format!("{name} {words} {{\n}}"),
        _ => format!("{name} {words}"),
    }
}

/// The lines in their block, with all blocks around it.
fn enclosed(block: &str, lines: &str) -> String {
    let within = |outer: &str, inner: &str| format!("{outer} {{\n{inner}\n}}");
    match block {
        "top" => lines.to_owned(),
        "vrrp_instance" => within(
            "vrrp_instance V",
            &format!(
                "{lines}\ninterface eth0\nvirtual_router_id 5\nvirtual_ipaddress {{\n10.0.0.4\n}}"
            ),
        ),
        "virtual_server" => within(
            "virtual_server 10.0.0.1 80",
            &format!("{lines}\nprotocol TCP\nreal_server 10.0.0.2 80 {{\nTCP_CHECK {{\n}}\n}}"),
        ),
        "real_server" => within(
            "virtual_server 10.0.0.1 80",
            &format!("protocol TCP\nreal_server 10.0.0.2 80 {{\n{lines}\n}}"),
        ),
        "url" => enclosed("HTTP_GET", &within("url", lines)),
        _ if CHECKERS.contains(&block) => enclosed("real_server", &within(block, lines)),
        _ if IN_INSTANCE.contains(&block) => enclosed("vrrp_instance", &within(block, lines)),
        "virtual_server_group" => {
            let server = "virtual_server group g {\nprotocol TCP\nreal_server 10.0.0.2 80 {\n}\n}";
            format!("{}\n{server}", within("virtual_server_group g", lines))
        }
        "global_defs" => format!("{}\n{}", within(block, lines), enclosed("vrrp_instance", "")),
        "SSL" => within(block, lines),
        _ if block.starts_with("static_") || block.starts_with("linkbeat") => within(block, lines),
        "interface_up_down_delays" => within(block, lines),
        _ => within(&format!("{block} s"), lines),
    }
}

fn values(arity: usize, rotate: usize) -> String {
    let words: Vec<&str> =
        (0..arity).map(|at| ARGUMENTS[(at + rotate) % ARGUMENTS.len()]).collect();
    words.join(" ")
}

#[test]
fn no_keyword_of_keepalived_is_forgotten() {
    let names = DirectiveNames::read("keepalived.tsv", 2);
    assert!(names.rows.len() > 450);
    let mut found = Vec::new();
    for row in &names.rows {
        for arity in row.arities() {
            for rotate in [0, 1, 2, 5] {
                let text = enclosed(&row.columns[0], &directive(row, &values(arity, rotate)));
                let left = forgotten(&text, Dialect::Keepalived);
                found.extend(left.into_iter().map(|what| format!("{:?}: {what}", row.columns)));
            }
        }
    }
    found.dedup();
    assert!(found.is_empty(), "{} forgotten:\n{}", found.len(), found.join("\n"));
}

#[test]
fn every_keyword_of_keepalived_becomes_what_is_expected() {
    DirectiveNames::read("keepalived.tsv", 2).check_outcomes(|row| {
        let own = directive(row, &values(row.least, 0));
        let text = enclosed(&row.columns[0], &own);
        let first = own.lines().next().unwrap_or_default();
        let line = text.lines().position(|line| line == first).unwrap_or(0) as u32 + 1;
        outcome(&text, line, Dialect::Keepalived)
    });
}

fn generated_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("keepalived.tsv", 2);
    let mut text = String::new();
    for (name, arguments, _) in chosen {
        let row = &names.rows[name.index(names.rows.len())];
        let own = directive(row, &words(arguments, &ARGUMENTS));
        writeln!(text, "{}", enclosed(&row.columns[0], &own)).unwrap();
    }
    // Keywords of one block beside each other, too.
    let together = |block: &str| {
        let of_block =
            |line: &&ChosenLine| names.rows[line.0.index(names.rows.len())].columns[0] == block;
        let all = chosen.iter().filter(of_block);
        let each = all.map(|(name, arguments, _)| {
            directive(&names.rows[name.index(names.rows.len())], &words(arguments, &ARGUMENTS))
        });
        enclosed(block, &each.collect::<Vec<_>>().join("\n"))
    };
    let blocks = ["vrrp_instance", "virtual_server", "real_server", "HTTP_GET"];
    blocks.into_iter().fold(text, |text, block| format!("{text}{}\n", together(block)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_word_of_a_generated_keepalived_file_is_forgotten(chosen in lines()) {
        let text = generated_file(&chosen);
        let left = forgotten(&text, Dialect::Keepalived);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }
}
