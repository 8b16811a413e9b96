//! Reports conditions that match nothing or everything for any request: empty ones, and expressions that no path can
//! match. They are always mistakes: a rule that rejects would reject no request, or all of them.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::matching::NameValuePattern;
use crate::config::section::{ConfigSection, ContentView};

/// The position of a condition.
#[derive(Clone, Copy)]
pub struct ConditionContext<'p> {
    pub path: &'p str,
    pub nested: bool,
    /// How the service compares paths.
    pub paths: PathComparison,
}

#[derive(Clone, Copy)]
pub struct PathComparison {
    /// Without normalisation.
    raw_paths: bool,
    /// Without regard to letter case.
    ignore_case: bool,
}

impl PathComparison {
    pub(super) fn from_service(service: &ConfigSection) -> PathComparison {
        PathComparison {
            raw_paths: service.text("path-normalization") == Some("raw"),
            ignore_case: service.text("path-case") == Some("ignore"),
        }
    }
}

/// Verifies a condition, without the conditions inside it.
pub fn verify_trivial_conditions(
    when: &ConfigSection,
    place: ConditionContext<'_>,
    sink: &mut FindingCollector<'_, '_>,
) {
    if place.nested && when.settings().next().is_none() {
        let trouble = FindingDetails::new("an empty condition holds for everything");
        sink.error(when.span, place.path, trouble.with_expected("a key of a condition in it"));
    }
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(when.span_of(key), &format!("{}.{key}", place.path), trouble);
    };
    for (key, meaning) in
        [("all", "no condition holds for everything"), ("any", "of no conditions none holds")]
    {
        let slot = when.setting(key).map(|setting| setting.content);
        if matches!(slot, Some(ContentView::List(list)) if list.is_empty()) {
            let trouble = FindingDetails::new(format!("the list is empty: {meaning}"));
            wrong(key, trouble.with_expected(format!("a condition in it, or no `{key}`")));
        }
    }
    if when.is_written("client") && when.prefixes("client").is_empty() && !when.is_invalid("client")
    {
        let trouble = FindingDetails::new("the list is empty: no client is in it");
        wrong("client", trouble.with_expected("a network in it, or no `client`"));
    }
    for text in when.texts("path-regex") {
        if let Some(trouble) = find_unmatchable(text, place.paths) {
            wrong("path-regex", trouble);
        }
    }
    let ends = |value: &str| value.contains(';') || value.trim_ascii() != value;
    let cut = |text: &&String| {
        NameValuePattern::parse_pair(text).and_then(|it| it.value).is_some_and(|it| ends(&it))
    };
    if let Some(text) = when.texts("cookie").iter().find(cut) {
        let message = format!(
            "`{text}` fits no cookie as it is sent: `;` ends one, and blanks around its value are none of it"
        );
        let expected = "a value without them: only one that is quoted or encoded may have them";
        let trouble = FindingDetails::new(message).with_expected(expected);
        sink.warning(when.span_of("cookie"), &format!("{}.cookie", place.path), trouble);
    }
    let several = |text: &&String| {
        let value = NameValuePattern::parse_field(text).and_then(|it| it.value);
        value.is_some_and(|value| value.contains(',') && !value.contains('"'))
    };
    if let Some(text) = when.texts("header-list").iter().find(several) {
        let message = format!("`{text}` fits no element as it is sent: `,` ends one");
        let trouble =
            FindingDetails::new(message).with_expected("one element, or several patterns");
        let path = format!("{}.header-list", place.path);
        sink.warning(when.span_of("header-list"), &path, trouble);
    }
    let address =
        |name: &&String| name.starts_with('[') || name.parse::<std::net::IpAddr>().is_ok();
    if let Some(name) = when.texts("sni").iter().find(address) {
        let message = format!("`{name}` is an address, and clients name none there (RFC 6066 §3)");
        let trouble =
            FindingDetails::new(message).with_expected("a name, such as \"shop.example\"");
        sink.warning(when.span_of("sni"), &format!("{}.sni", place.path), trouble);
    }
}

/// A text in an expression that no path can contain, because paths are compared percent-encoded.
fn find_unmatchable(expression: &str, paths: PathComparison) -> Option<FindingDetails> {
    let message = "paths are compared in their percent-encoded form, and none has";
    if let Some(character) = expression.chars().find(|c| !c.is_ascii()) {
        let mut bytes = [0; 4];
        let bytes = character.encode_utf8(&mut bytes).bytes();
        let form: String = bytes.map(|byte| format!("%{byte:02X}")).collect();
        let trouble = FindingDetails::new(format!("{message} a `{character}`"));
        return Some(trouble.with_expected(format!("`{form}` instead of it")));
    }
    // Flags in the expression may change the meaning of letter case or blanks.
    if paths.raw_paths || paths.ignore_case || expression.contains("(?") {
        return None;
    }
    let bytes = expression.as_bytes();
    let escape = bytes.windows(3).find(|three| {
        let digits = three[1].is_ascii_hexdigit() && three[2].is_ascii_hexdigit();
        three[0] == b'%' && digits && three[1..].iter().any(u8::is_ascii_lowercase)
    })?;
    let escape = String::from_utf8_lossy(escape).into_owned();
    let trouble = FindingDetails::new(format!("{message} small letters in an escape: `{escape}`"));
    Some(trouble.with_expected(format!("`{}`", escape.to_ascii_uppercase())))
}
