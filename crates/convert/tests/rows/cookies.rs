//! HAProxy's cookies: modes, options, the values of servers, and several backends.

use std::collections::BTreeSet;

use convert::dialect::Dialect;
use convert::notes::{ConversionNote, NoteKind};
use convert::run::{ConversionResult, convert};

#[test]
fn a_cookie_keeps_its_mode_its_attributes_and_the_values_of_servers() {
    let insert = "cookie = \"insert\"";
    let plain = "http-only = false, secure = false, same-site = \"omit\" }";
    for (cookie, sticky, value) in [
        ("cookie S prefix", "cookie = \"prefix\" }", "cookie-value = \"one\""),
        (
            "cookie S prefix nocache",
            "cookie = \"prefix\", no-cache = true }",
            "cookie-value = \"one\"",
        ),
        ("cookie S", "cookie = \"passive\" }", "cookie-value = \"one\""),
        ("cookie S rewrite", "cookie = \"rewrite\" }", ""),
        ("cookie S insert", plain, ""),
        ("cookie S insert indirect nocache", "hide = true, no-cache = true", ""),
        ("cookie S insert httponly secure", "http-only = true, secure = true", ""),
        ("cookie S insert domain .shop.example", "domain = \"shop.example\"", ""),
        ("cookie S insert secure attr \"SameSite=None\"", "same-site = \"none\" }", ""),
        ("cookie S insert maxidle 30m", "expire = \"30m\"", ""),
    ] {
        let text = format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n\
             backend b\n mode http\n {cookie}\n server s 10.0.0.1:80 cookie one\n server t 10.0.0.2:80 cookie two\n"
        );
        let converted = convert(&text, "x", Dialect::Haproxy);
        let written = converted.text.unwrap();
        model::config::load(&written, "x")
            .unwrap_or_else(|findings| panic!("{cookie}: {findings}"));
        let has = |part: &str| written.contains(part);
        assert!(has(sticky) && has("name = \"S\"") && has(value), "{cookie}: {written}");
        assert_eq!(has(insert), cookie.contains("insert"), "{written}");
        assert_eq!(has("cookie-value"), !value.is_empty(), "{cookie}: {written}");
        assert!(converted.notes.iter().all(|note| note.kind != NoteKind::LeftOut), "{cookie}");
    }
}

/// A backend of two servers, with the lines before them and the words after their addresses.
fn cookie_backend(lines: &str, words: [&str; 2]) -> ConversionResult {
    let [one, two] = words;
    let text = format!(
        "frontend f\n mode http\n bind 127.0.0.1:80\n default_backend b\n\
         backend b\n mode http\n{lines} server s 10.0.0.1:80 {one}\n server t 10.0.0.2:80 {two}\n"
    );
    let converted = convert(&text, "x", Dialect::Haproxy);
    let written = converted.text.as_deref().unwrap();
    model::config::load(written, "x").unwrap_or_else(|findings| panic!("{text}: {findings}"));
    assert_eq!(written.matches("address = ").count(), 2, "{written}");
    assert_eq!(converted.unsettled, 0, "{lines}{words:?}: {:?}", converted.notes);
    converted
}

#[test]
fn a_server_keeps_its_place_where_clients_cannot_name_it() {
    let long = "x".repeat(65);
    let rows: [([&str; 2], &[u32]); 7] = [
        (["cookie a", "cookie a"], &[9]),
        (["cookie a~b", "cookie c"], &[8]),
        (["cookie a", &*format!("cookie {long}")], &[9]),
        // The name of a server without a value.
        (["cookie t", ""], &[8]),
        (["cookie t", "cookie t"], &[8, 9]),
        (["cookie t", "cookie s"], &[]),
        (["cookie a cookie b", "cookie c"], &[]),
    ];
    for (words, left) in rows {
        let converted = cookie_backend(" cookie S prefix\n", words);
        let out = |note: &&ConversionNote| note.kind == NoteKind::LeftOut;
        let lines: BTreeSet<u32> =
            converted.notes.iter().filter(out).map(|note| note.line).collect();
        assert_eq!(
            lines,
            BTreeSet::from_iter(left.iter().copied()),
            "{words:?}: {:?}",
            converted.notes
        );
    }
}

#[test]
fn words_of_a_cookie_may_repeat_and_be_in_any_place() {
    for (line, part) in [
        ("cookie prefix insert", "name = \"prefix\", cookie = \"insert\""),
        ("cookie secure insert", "secure = false"),
        ("cookie S nocache indirect nocache insert", "hide = true, no-cache = true }"),
        ("cookie S insert maxidle 1m maxidle 2m", "expire = \"2m\""),
        ("cookie S insert maxidle x", "cookie = \"insert\", http-only"),
        ("cookie S insert attr SameSite=None", "same-site = \"omit\""),
        ("default-server cookie x\n cookie S prefix", "cookie-value = \"b\""),
        ("default-server cookie x\n cookie S insert", "cookie = \"insert\""),
    ] {
        let converted = cookie_backend(&format!(" {line}\n"), ["cookie a", "cookie b"]);
        let written = converted.text.unwrap();
        assert!(written.contains(part), "{line}: {written}");
    }
}

#[test]
fn backends_with_one_cookie_are_accounted_for() {
    for second in
        ["cookie S prefix", "cookie T", "cookie S insert", "stick-table type ip\n stick on src"]
    {
        let text = format!(
            "frontend f\n mode http\n bind 127.0.0.1:80\n use_backend c if {{ path /c }}\n default_backend b\n\
             backend b\n mode http\n cookie S prefix\n server s 10.0.0.1:80 cookie a\n\
             backend c\n mode http\n {second}\n server s 10.0.0.2:80 cookie a\n"
        );
        let converted = convert(&text, "x", Dialect::Haproxy);
        assert!(converted.text.unwrap().contains("cookie = \"prefix\""), "{second}");
        assert_eq!(converted.unsettled, 0, "{second}: {:?}", converted.notes);
    }
}
