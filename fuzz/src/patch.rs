//! The target of merge patches: a text and a patch of one of its objects, in the API's format.
//!
//! Properties besides not panicking: the result is valid text, its tree is the merge by RFC 7396, and a rejected patch
//! has a reason.

use model::config::patch::{ConfigObject, apply_patch, read_object};
use model::config::toml_tree::parse_tree;
use serde_json::{Map, Value};

/// The text to patch when the input contains none.
const TEXT: &str = r#"# A shop.
[service.shop]
listen = "127.0.0.1:8080" # in front
forward = "http"
pool = "web"
[[service.shop.rule]]
name = "api"
when = { path = "/api/*" }
[pool.web]
servers = [
  # The old one.
  { name = "a", address = "10.0.0.1:80" }, # here
  "10.0.0.3:80",
]
[[pool.mail.servers]]
address = "10.0.0.4:25"
[pool]
next.balance = "random"
"#;

/// The first byte selects the object. The patch follows, and after a byte 0xff the text.
pub fn merge(bytes: &[u8]) {
    let Some((which, rest)) = bytes.split_first() else { return };
    let (keys, text) = match rest.iter().position(|byte| *byte == 0xff) {
        Some(at) => (&rest[..at], String::from_utf8_lossy(&rest[at + 1..]).into_owned()),
        None => (rest, TEXT.to_owned()),
    };
    let Ok(keys) = serde_json::from_slice::<Value>(keys) else { return };
    let object = match which % 7 {
        0 => ConfigObject::Service("shop".to_owned()),
        1 => ConfigObject::Pool("web".to_owned()),
        2 => ConfigObject::Server { pool: "web".to_owned(), name: "a".to_owned() },
        3 => ConfigObject::Server { pool: "web".to_owned(), name: "10-0-0-3-80".to_owned() },
        4 => ConfigObject::Rule { service: "shop".to_owned(), name: "api".to_owned() },
        5 => ConfigObject::Rule { service: "shop".to_owned(), name: "1".to_owned() },
        _ => ConfigObject::Root,
    };
    let before = read_object(&text, &object);
    match apply_patch(&text, &object, &keys) {
        Ok(after) => {
            let changed = parse_tree(&after).unwrap_or_else(|e| panic!("{e}:\n{after}"));
            let before = before.expect("a patched object was there");
            let (ConfigObject::Root, Value::Object(keys)) = (&object, &keys) else { return };
            assert_eq!(plain(&changed), plain(&merged(&before, keys)), "{after}");
        }
        Err(why) => assert!(!why.to_string().is_empty()),
    }
}

fn merged(target: &Value, patch: &Map<String, Value>) -> Value {
    let mut out = target.as_object().cloned().unwrap_or_default();
    for (key, value) in patch {
        match value {
            Value::Null => drop(out.remove(key)),
            Value::Object(inner) => {
                let before = out.get(key).cloned().unwrap_or_default();
                out.insert(key.clone(), merged(&before, inner));
            }
            other => drop(out.insert(key.clone(), other.clone())),
        }
    }
    Value::Object(out)
}

/// Removes nulls, which TOML lacks. Elements of lists keep their other keys.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(keys) => {
            let kept = keys.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect())
        }
        Value::Array(all) => Value::Array(all.iter().map(plain).collect()),
        other => other.clone(),
    }
}

/// Tokens of patches.
pub const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"\":",
    b"null",
    b"[",
    b"]",
    b",",
    b"{\"service\":{\"shop\":{\"rule\":[]}}}",
    b"{\"pool\":{\"web\":null}}",
    b"\"servers\":[{\"name\":\"a\"}]",
    b"\"address\":\"10.0.0.1:80\"",
    b"\"name\":",
    b"\"\"",
    b"18446744073709551615",
    b"-1e308",
    b"\\u0000",
    b"\xff[service.shop]\n",
    b"\n[[pool.web.servers]]\n",
    b" = { a = 1 }\n",
    b"\n#",
    b".",
];

/// A patch of each object.
pub fn seeds() -> Vec<Vec<u8>> {
    let patches: [&[u8]; 9] = [
        b"\x00{\"listen\":[\"127.0.0.1:1\"],\"limit\":{\"connections\":5}}",
        b"\x01{\"servers\":[{\"name\":\"a\",\"weight\":3},\"10.0.0.9:80\"],\"probe\":null}",
        b"\x02{\"weight\":3,\"probe\":{\"every\":\"1s\"}}",
        b"\x03{\"state\":\"drain\"}",
        b"\x04{\"when\":{\"path\":\"/v2\"}}",
        b"\x05{\"name\":null}",
        b"\x06{\"pool\":{\"web\":null,\"new\":{\"servers\":[]}},\"global\":{\"workers\":2}}",
        b"\x06{\"a\":{\"b\":{\"c\":[1,{\"d\":1.5}]}}}\xffa.b.c = 1\n[[x]]\ny = { z = 2 }\n",
        b"\x01{\"servers\":[]}\xff[pool]\nweb.servers = [\"a:1\"]\n",
    ];
    patches.map(<[u8]>::to_vec).to_vec()
}
