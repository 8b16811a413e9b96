//! Objects that come, are replaced and go: what the text is afterwards, and that an edit of an object's own lines and of
//! the whole text are the same.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::config::patch::patch_text;
use crate::config::toml_tree::parse_tree;

const TEXT: &str = r#"# Our shop.
[service.shop]
listen = "127.0.0.1:8080" # the front
forward = "http"
pool = "web"

# Programs.
[[service.shop.rule]]
name = "api"
when = { path = "/api/*" }
pool = "web"

[[service.shop.rule]]
when = { path = "/old" }
redirect = "/new"

# Two racks.
[pool.web]
servers = [
  # The old one.
  { name = "a", address = "10.0.0.1:80" }, # rack 1
  "10.0.0.3:80",
]
"#;

fn server(name: &str) -> ConfigObject {
    ConfigObject::Server { pool: "web".into(), name: name.into() }
}

fn rule(name: &str) -> ConfigObject {
    ConfigObject::Rule { service: "shop".into(), name: name.into() }
}

fn pool(name: &str) -> ConfigObject {
    ConfigObject::Pool(name.into())
}

fn put(value: Value) -> ObjectEdit {
    ObjectEdit::Put(ObjectPut { value, ..ObjectPut::default() })
}

/// The text with each of these lines once, and the object as it is then.
fn edited(object: &ConfigObject, edit: &ObjectEdit) -> String {
    let text = apply_edit(TEXT, object, edit).unwrap();
    crate::config::load(&text, "x").unwrap_or_else(|findings| panic!("{findings}\n{text}"));
    text
}

#[test]
fn an_object_that_does_not_exist_is_made() {
    let rows = [
        (
            pool("more"),
            json!({ "servers": ["10.0.0.9:80"] }),
            "]\n\n[pool.more]\nservers = [\"10.0.0.9:80\"]\n",
        ),
        (
            server("b"),
            json!({ "address": "10.0.0.2:80", "weight": 2 }),
            "{ address = \"10.0.0.2:80\", name = \"b\", weight = 2 }",
        ),
        (
            server("10-0-0-4-80"),
            json!({ "address": "10.0.0.4:80" }),
            "{ address = \"10.0.0.4:80\" }",
        ),
        (
            rule("last"),
            json!({ "when": { "host": "h" }, "pool": "web" }),
            "redirect = \"/new\"\n\n[[service.shop.rule]]\nname = \"last\"\npool = \"web\"\nwhen = { host = \"h\" }\n\n# Two racks.\n",
        ),
    ];
    for (object, value, lines) in rows {
        let text = edited(&object, &put(value.clone()));
        assert!(text.contains(lines), "{object:?}\n{text}");
        let found = read_object(&text, &object).unwrap();
        for (key, value) in value.as_object().unwrap() {
            assert_eq!(found.get(key), Some(value), "{object:?}");
        }
        // Again, it is what it already is.
        assert_eq!(apply_edit(&text, &object, &put(found)).unwrap(), text);
    }
}

#[test]
fn a_rule_is_inserted_where_it_is_to_decide() {
    let edit = |before: &str| {
        ObjectEdit::Put(ObjectPut {
            value: json!({ "deny": true, "when": { "path": "/api/private" } }),
            before: Some(before.into()),
            ..ObjectPut::default()
        })
    };
    let text = edited(&rule("private"), &edit("api"));
    let at = |words: &str| text.find(words).unwrap();
    assert!(at("\"private\"") < at("# Programs."), "{text}");
    assert!(at("# Programs.") < at("name = \"api\""), "{text}");
    let text = edited(&rule("private"), &edit("2"));
    assert!(text.find("\"private\"") < text.find("/old"), "{text}");
    assert!(text.find("\"private\"") > text.find("name = \"api\""), "{text}");
    let unknown = apply_edit(TEXT, &rule("private"), &edit("none")).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no rule 'none' of service 'shop'; there are api, 2");
}

#[test]
fn an_object_that_exists_is_replaced_where_it_stands() {
    let text = edited(&server("a"), &put(json!({ "address": "10.0.0.8:80" })));
    assert!(
        text.contains("# The old one.\n  { name = \"a\", address = \"10.0.0.8:80\" }, # rack 1")
    );
    let text = edited(&rule("api"), &put(json!({ "deny": true, "when": { "host": "h" } })));
    let found = read_object(&text, &rule("api")).unwrap();
    assert_eq!(found, json!({ "name": "api", "deny": true, "when": { "host": "h" } }));
    assert!(text.contains("# Programs.\n[[service.shop.rule]]\nname = \"api\"\n"), "{text}");
}

#[test]
fn an_object_is_removed_with_its_comments() {
    let rows = [
        (
            rule("api"),
            "# Programs.\n[[service.shop.rule]]\nname = \"api\"\nwhen = { path = \"/api/*\" }\npool = \"web\"\n",
        ),
        (rule("2"), "\n[[service.shop.rule]]\nwhen = { path = \"/old\" }\nredirect = \"/new\"\n"),
        (server("10-0-0-3-80"), "  \"10.0.0.3:80\",\n"),
    ];
    for (object, lines) in rows {
        let text = edited(&object, &ObjectEdit::Remove);
        assert!(!text.contains(lines.trim_start()), "{object:?}\n{text}");
        // A comment behind an element belongs to the one after it.
        let most = lines.len() + " # rack 1".len();
        assert!(text.len() >= TEXT.len() - most, "{object:?}\n{text}");
        assert!(!has_object(&text, &object) || object == rule("2"), "{object:?}\n{text}");
    }
    let text = apply_edit(TEXT, &pool("web"), &ObjectEdit::Remove).unwrap();
    assert!(text.ends_with("redirect = \"/new\"\n"), "{text}");
    let again = apply_edit(&text, &pool("web"), &ObjectEdit::Remove).unwrap_err();
    assert_eq!(again.to_string(), "there is no pool 'web'");
}

#[test]
fn what_cannot_be_put_is_named() {
    let new =
        |value| ObjectEdit::Put(ObjectPut { value, must_be_new: true, ..ObjectPut::default() });
    let rows = [
        (pool("web"), new(json!({})), "there is a pool 'web' already"),
        (
            server("a"),
            put(json!({ "name": "b", "address": "10.0.0.1:80" })),
            "name: found \"b\", expected 'a', as in the path, or no name",
        ),
        (
            pool("web"),
            put(json!([])),
            "found a list, expected a JSON object with the keys to change, null for those to remove",
        ),
    ];
    for (object, edit, message) in rows {
        assert_eq!(apply_edit(TEXT, &object, &edit).unwrap_err().to_string(), message);
    }
    let nowhere = ConfigObject::Server { pool: "none".into(), name: "a".into() };
    let missing = apply_edit(TEXT, &nowhere, &put(json!({ "address": "10.0.0.1:80" })));
    assert_eq!(missing.unwrap_err().to_string(), "there is no pool 'none'; there are web");
}

/// Texts of several services and pools, with rules in lists of tables, in arrays and with inner tables.
fn texts() -> impl Strategy<Value = String> {
    let gap =
        prop_oneof![Just(""), Just("\n"), Just("# A comment.\n"), Just("\n# Of two\n# lines.\n")];
    let block = prop_oneof![
        (0..3_u8).prop_map(|n| format!("[service.s{n}]\nx = 1 # one\n")),
        (0..3_u8, 0..4_u8).prop_map(|(n, m)| format!(
            "[[service.s{n}.rule]]\nname = \"r{m}\"\nlist = [\n  1,\n]\n"
        )),
        (0..3_u8).prop_map(|n| format!(
            "[[service.s{n}.rule]]\n[service.s{n}.rule.when]\nhost = \"h\"\n"
        )),
        (0..3_u8).prop_map(|n| format!(
            "[pool.p{n}]\nservers = [\n  {{ name = \"a\" }},\n  \"10.0.0.1:80\",\n]\n"
        )),
        (0..3_u8).prop_map(|n| format!("[pool.p{n}.probe]\ninterval = 1\n")),
    ];
    proptest::collection::vec((gap, block), 1..14)
        .prop_map(|parts| parts.into_iter().map(|(gap, block)| format!("{gap}{block}")).collect())
}

fn objects() -> impl Strategy<Value = ConfigObject> {
    prop_oneof![
        (0..3_u8).prop_map(|n| ConfigObject::Service(format!("s{n}"))),
        (0..3_u8).prop_map(|n| ConfigObject::Pool(format!("p{n}"))),
        (0..3_u8, prop_oneof!["a", "10-0-0-1-80"])
            .prop_map(|(n, name)| ConfigObject::Server { pool: format!("p{n}"), name }),
        (0..3_u8, 0..4_u8, any::<bool>()).prop_map(|(n, m, by_name)| ConfigObject::Rule {
            service: format!("s{n}"),
            name: if by_name { format!("r{m}") } else { m.to_string() },
        }),
    ]
}

proptest! {
    /// A patch of an object's own lines is the patch of the whole text.
    #[test]
    fn own_lines_are_patched_as_the_whole_text_is(text in texts(), object in objects(), new in 0..9_u8) {
        prop_assume!(parse_tree(&text).is_ok());
        let patch = json!({ "x": new, "list": [new], "when": { "path": "/p" } });
        let whole = patch_text(&text, &object, patch.as_object().unwrap());
        // Where a header is made, blank lines and comments may be before or behind it.
        let lines = |text: String| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.retain(|line| !line.is_empty());
            lines.sort();
            (parse_tree(&text), lines)
        };
        prop_assert_eq!(apply_patch(&text, &object, &patch).map(lines), whole.map(lines));
    }

    /// What was put is read again, what was removed is not, and every other object is as before.
    #[test]
    fn objects_come_and_go_alone(text in texts(), object in objects(), new in 0..9_u8) {
        prop_assume!(parse_tree(&text).is_ok());
        let value = json!({ "x": new });
        let is_place = matches!(&object, ConfigObject::Rule { name, .. } if name.parse::<u8>().is_ok());
        if let Ok(made) = apply_edit(&text, &object, &put(value)) {
            prop_assert!(parse_tree(&made).is_ok(), "{}", made);
            let known = has_object(&text, &object);
            prop_assert!(known || is_place || read_object(&made, &object).unwrap()["x"] == json!(new));
            if !known && !is_place {
                let back = apply_edit(&made, &object, &ObjectEdit::Remove).unwrap();
                let same = |tree: Value| {
                    // A list that has no elements any more is as good as none.
                    let mut tree = tree.to_string();
                    for list in ["\"rule\":[]", "\"servers\":[]"] {
                        tree = tree.replace(&format!(",{list}"), "").replace(list, "");
                    }
                    tree
                };
                prop_assert_eq!(same(parse_tree(&back).unwrap()), same(parse_tree(&text).unwrap()));
            }
        }
        if let Ok(left) = apply_edit(&text, &object, &ObjectEdit::Remove) {
            prop_assert!(parse_tree(&left).is_ok(), "{}", left);
            prop_assert!(has_object(&text, &object));
        }
    }
}
