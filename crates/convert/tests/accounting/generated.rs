//! Generated files: a random mix of names from the manuals, words that directives read, and garbage.

use std::fmt::Write as _;

use convert::dialect::Dialect;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::names::DirectiveNames;
use super::{envoy, forgotten, haproxy, nginx, traefik};

/// The number of files for each dialect. `STEELYARD_PROVE=1` tries 5,000.
pub fn cases() -> u32 {
    if std::env::var_os("STEELYARD_PROVE").is_some() { 5_000 } else { 200 }
}

/// The same files in every run of the gate; others in each long run.
pub fn seed() -> RngSeed {
    if std::env::var_os("STEELYARD_PROVE").is_some() { RngSeed::Random } else { RngSeed::Fixed(1) }
}

/// A random line: the indices of its name, its words and its place.
pub type ChosenLine = (prop::sample::Index, Vec<prop::sample::Index>, prop::sample::Index);

pub fn lines() -> impl Strategy<Value = Vec<ChosenLine>> {
    let words = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    prop::collection::vec(
        (any::<prop::sample::Index>(), words, any::<prop::sample::Index>()),
        1..30,
    )
}

/// A random choice of words that directives read, and garbage.
pub fn words(chosen: &[prop::sample::Index], known: &[&str]) -> String {
    let garbage = ["ä", "-1", "99999999999", "[::1]:8080", "unix:/run/x", "%[src]"];
    let all = [known, &garbage].concat();
    chosen.iter().map(|index| all[index.index(all.len())]).collect::<Vec<_>>().join(" ")
}

fn haproxy_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("haproxy.tsv", 3);
    let sections = ["global", "defaults", "frontend f", "backend b", "listen l", "backend c"];
    let mut bodies = vec![String::new(); sections.len()];
    bodies[2].push_str(" mode http\n bind 127.0.0.1:80\n default_backend b\n");
    bodies[3].push_str(" mode http\n server s 10.0.0.1:80\n");
    for (name, arguments, section) in chosen {
        let row = &names.rows[name.index(names.rows.len())];
        let begin = match row.columns[0].as_str() {
            "action" => "http-request ",
            "bind" => "bind 127.0.0.1:81 ",
            "server" => "server t 10.0.0.2:80 ",
            "fetch" => "acl a ",
            _ => "",
        };
        let words = words(arguments, &haproxy::ARGUMENTS);
        writeln!(bodies[section.index(sections.len())], " {begin}{} {words}", row.columns[1])
            .unwrap();
    }
    let mut text: String =
        sections.iter().zip(bodies).map(|(title, body)| format!("{title}\n{body}")).collect();
    for (name, arguments, section) in chosen {
        let side = &haproxy::SIDE_SECTIONS[section.index(haproxy::SIDE_SECTIONS.len())];
        let word = side.words[name.index(side.words.len())];
        let words = words(arguments, &haproxy::ARGUMENTS);
        writeln!(text, "{}\n {word} {words}", side.title).unwrap();
    }
    text
}

fn nginx_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("nginx.tsv", 2);
    let mut places = vec![String::new(); 6];
    for (name, arguments, place) in chosen {
        let row = &names.rows[name.index(names.rows.len())];
        let end = if row.rest[0] == "block" { " { }" } else { ";" };
        let words = words(arguments, &nginx::ARGUMENTS);
        let place = &mut places[place.index(6)];
        writeln!(place, "{} {words}{end}", row.columns[0]).unwrap();
    }
    let [main, http, server, location, upstream, stream] = &places[..] else { unreachable!() };
    format!(
        "{main}http {{\n{http}upstream u {{\nserver 10.0.0.1:80;\n{upstream}}}\nserver {{\nlisten 127.0.0.1:80;\n\
         {server}location / {{\nproxy_pass http://u;\n{location}}}\n}}\n}}\n\
         stream {{\nserver {{\nlisten 127.0.0.1:90;\nproxy_pass 10.0.0.2:80;\n{stream}}}\n}}\n"
    )
}

fn envoy_file(chosen: &[ChosenLine]) -> String {
    let names = DirectiveNames::read("envoy.tsv", 2);
    let fields: Vec<_> = chosen
        .iter()
        .map(|(name, _, value)| {
            let row = &names.rows[name.index(names.rows.len())];
            let values = envoy::values(&row.rest[0]);
            envoy::ChosenField { row, value: values[value.index(values.len())] }
        })
        .collect();
    envoy::file_with(&fields)
}

fn traefik_file(chosen: &[ChosenLine], as_labels: bool) -> String {
    let names = DirectiveNames::read("traefik.tsv", 2);
    let options: Vec<_> = chosen
        .iter()
        .map(|(name, _, value)| {
            let row = &names.rows[name.index(names.rows.len())];
            let values = traefik::values(&row.rest[0]);
            (row, values[value.index(values.len())])
        })
        .collect();
    traefik::file_with(&options, as_labels)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_word_of_a_generated_haproxy_file_is_forgotten(chosen in lines()) {
        let text = haproxy_file(&chosen);
        let left = forgotten(&text, Dialect::Haproxy);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }

    #[test]
    fn no_word_of_a_generated_nginx_file_is_forgotten(chosen in lines()) {
        let text = nginx_file(&chosen);
        let left = forgotten(&text, Dialect::Nginx);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }

    #[test]
    fn no_word_of_a_generated_envoy_file_is_forgotten(chosen in lines()) {
        let text = envoy_file(&chosen);
        let left = forgotten(&text, Dialect::Envoy);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }

    #[test]
    fn no_word_of_a_generated_traefik_file_is_forgotten(chosen in lines(), as_labels in any::<bool>()) {
        let text = traefik_file(&chosen, as_labels);
        let left = forgotten(&text, Dialect::Traefik);
        prop_assert!(left.is_empty(), "{left:?} of\n{text}");
    }
}
