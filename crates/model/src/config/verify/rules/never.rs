//! Conditions that hold for nothing or for everything, whatever is asked for: empty ones, and expressions for what no path
//! has. Nobody means them, and a rule that refuses would refuse nobody, or everybody.

use super::super::super::finding::{Sink, Trouble};
use super::super::super::matching::Match;
use super::super::super::section::{Section, Slot};

/// Where a condition stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    /// Its key path.
    pub path: &'p str,
    /// Within another one.
    pub nested: bool,
    /// How the service compares paths.
    pub paths: Paths,
}

/// How a service compares paths.
#[derive(Clone, Copy)]
pub(super) struct Paths {
    /// As clients write them.
    raw: bool,
    /// Whatever their letter case.
    any_case: bool,
}

impl Paths {
    /// Of a service.
    pub(super) fn of(service: &Section) -> Paths {
        Paths {
            raw: service.text("path-normalization") == Some("raw"),
            any_case: service.text("path-case") == Some("ignore"),
        }
    }
}

/// Judge a condition, but not those within it.
pub(super) fn verify(when: &Section, place: Place<'_>, sink: &mut Sink<'_, '_>) {
    if place.nested && when.settings().next().is_none() {
        let trouble = Trouble::new("an empty condition holds for everything");
        sink.error(when.place, place.path, trouble.expected("a key of a condition in it"));
    }
    let mut wrong = |key: &str, trouble: Trouble| {
        sink.error(when.place_of(key), &format!("{}.{key}", place.path), trouble);
    };
    for (key, meaning) in
        [("all", "no condition holds for everything"), ("any", "of no conditions none holds")]
    {
        let slot = when.setting(key).map(|setting| &setting.slot);
        if matches!(slot, Some(Slot::List(list)) if list.is_empty()) {
            let trouble = Trouble::new(format!("the list is empty: {meaning}"));
            wrong(key, trouble.expected(format!("a condition in it, or no `{key}`")));
        }
    }
    if when.wrote("client") && when.prefixes("client").is_empty() && !when.broken("client") {
        let trouble = Trouble::new("the list is empty: no client is in it");
        wrong("client", trouble.expected("a network in it, or no `client`"));
    }
    for text in when.texts("path-regex") {
        if let Some(trouble) = unseen(text, place.paths) {
            wrong("path-regex", trouble);
        }
    }
    let ends = |value: &str| value.contains(';') || value.trim_ascii() != value;
    let cut =
        |text: &&String| Match::pair(text).and_then(|it| it.value).is_some_and(|it| ends(&it));
    if let Some(text) = when.texts("cookie").iter().find(cut) {
        let message = format!(
            "`{text}` fits no cookie as it is sent: `;` ends one, and blanks around its value are none of it"
        );
        let expected = "a value without them: only one that is quoted or encoded may have them";
        let trouble = Trouble::new(message).expected(expected);
        sink.warning(when.place_of("cookie"), &format!("{}.cookie", place.path), trouble);
    }
    let address =
        |name: &&String| name.starts_with('[') || name.parse::<std::net::IpAddr>().is_ok();
    if let Some(name) = when.texts("sni").iter().find(address) {
        let message = format!("`{name}` is an address, and clients name none there (RFC 6066 §3)");
        let trouble = Trouble::new(message).expected("a name, such as \"shop.example\"");
        sink.warning(when.place_of("sni"), &format!("{}.sni", place.path), trouble);
    }
}

/// What an expression looks for and no path has: paths are compared percent-encoded.
fn unseen(expression: &str, paths: Paths) -> Option<Trouble> {
    let message = "paths are compared in their percent-encoded form, and none has";
    if let Some(character) = expression.chars().find(|c| !c.is_ascii()) {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).bytes();
        let form: String = bytes.map(|byte| format!("%{byte:02X}")).collect();
        let trouble = Trouble::new(format!("{message} a `{character}`"));
        return Some(trouble.expected(format!("`{form}` instead of it")));
    }
    // With flags in it letter case or blanks may mean something else.
    if paths.raw || paths.any_case || expression.contains("(?") {
        return None;
    }
    let bytes = expression.as_bytes();
    let escape = bytes.windows(3).find(|three| {
        let digits = three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit();
        three[0] == b'%' && digits && three[1..].iter().any(u8::is_ascii_lowercase)
    })?;
    let escape = String::from_utf8_lossy(escape).into_owned();
    let trouble = Trouble::new(format!("{message} small letters in an escape: `{escape}`"));
    Some(trouble.expected(format!("`{}`", escape.to_ascii_uppercase())))
}
