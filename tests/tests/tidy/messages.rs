//! What people read is in plain words.

use tests::{debug_forms, quoted_errors};

use super::{finds, holds};

#[test]
fn messages_for_people_hold_no_debug_forms() {
    holds(debug_forms::offences);
    let path = "crates/daemon/src/a.rs";
    let good = [
        (
            path,
            "fn f() { format!(\"{why}\"); }\n#[cfg(test)]\nmod tests { fn g() { format!(\"{x:?}\"); } }",
        ),
        ("crates/wire/src/a.rs", "fn f() { format!(\"{why:?}\"); }"),
    ];
    for bad in ["format!(\"{why:?}\")", "format!(\"a {:?}\", why)", "#[error(\"b {0:#?}\")]"] {
        finds(debug_forms::offences, &[(path, bad)], "write it in words", &good);
    }
    let toml = ("crates/lab/src/a.rs", "#[error(\"{0}\")] Form(#[from] toml::de::Error),");
    finds(debug_forms::offences, &[toml], "plain words", &good);
}

#[test]
fn reasons_in_responses_are_written_in_plain_words() {
    holds(quoted_errors::offences);
    let path = "crates/api/src/types/a.rs";
    let good = "#[serde(serialize_with = \"crate::plain_text::serialize\")]\npub reason: String,";
    let good = [
        format!("pub struct Link {{\n{good}\npub name: String,\n}}"),
        "pub struct Draining {\npub reason: String,\n}".to_owned(),
    ];
    for field in
        ["pub reason: String,", "pub problem: Option<String>,", "pub warnings: Vec<String>,"]
    {
        let bad = format!("pub struct Link {{\n#[serde(default)]\n{field}\n}}");
        finds(
            quoted_errors::offences,
            &[(path, &bad)],
            "`Link` may quote an error",
            &[(path, &good[0]), (path, &good[1])],
        );
    }
}
