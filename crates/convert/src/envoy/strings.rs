//! Matchers of texts, fields and parameters, as conditions of a rule.

use model::config::IpPrefix;

use crate::condition::{RuleCondition, escape_regex};
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::structured::node::ConfigNode;
use crate::value;

use super::reader::{take_flag, take_number, take_text, take_type};

/// How a text is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextMatch {
    Exact(String),
    Prefix(String),
    Suffix(String),
    Contains(String),
    /// The whole text fits the expression.
    Regex(String),
    Unknown(UnsupportedReason),
}

/// A matcher of texts, with its letter case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringMatch {
    pub text: TextMatch,
    pub ignore_case: bool,
}

pub fn unsupported(what: &str) -> UnsupportedReason {
    UnsupportedReason::new(format!("{what} cannot be a condition of a rule"), "")
}

/// The expression of a matcher.
pub fn take_regex(node: &ConfigNode, notes: &mut ConversionNotes) -> String {
    let regex = take_text(node, "regex", notes).unwrap_or_default().to_owned();
    if let Some(engine) = node.get("google_re2") {
        let reason = "expressions are matched in linear time, and their size is limited";
        notes.not_needed(engine.source.whole(), engine.describe(), reason);
    }
    regex
}

impl StringMatch {
    /// Reads the fields `exact`, `prefix` and so on of a matcher.
    pub fn read(node: &ConfigNode, notes: &mut ConversionNotes) -> StringMatch {
        let mut found = Vec::new();
        for (key, make) in [
            ("exact", TextMatch::Exact as fn(String) -> TextMatch),
            ("prefix", TextMatch::Prefix),
            ("suffix", TextMatch::Suffix),
            ("contains", TextMatch::Contains),
        ] {
            found.extend(take_text(node, key, notes).map(|text| make(text.to_owned())));
        }
        if let Some(regex) = node.get("safe_regex") {
            found.push(TextMatch::Regex(take_regex(regex, notes)));
        }
        let ignore_case = take_flag(node, "ignore_case", notes).unwrap_or(false);
        // A criterion that is not known makes the condition unknown.
        let text = match (found.pop(), node.unread_entries().next()) {
            (Some(text), None) if found.is_empty() => text,
            (_, Some(other)) => TextMatch::Unknown(unsupported(other.describe())),
            _ => TextMatch::Unknown(unsupported(node.describe())),
        };
        StringMatch { text, ignore_case }
    }

    fn glob(&self) -> Option<String> {
        let plain = |text: &str| {
            let mut out = String::new();
            for c in text.chars() {
                if "*?\\".contains(c) {
                    out.push('\\');
                }
                out.push(c);
            }
            out
        };
        match &self.text {
            TextMatch::Exact(text) => Some(plain(text)),
            TextMatch::Prefix(text) => Some(format!("{}*", plain(text))),
            TextMatch::Suffix(text) => Some(format!("*{}", plain(text))),
            TextMatch::Contains(text) => Some(format!("*{}*", plain(text))),
            TextMatch::Regex(_) | TextMatch::Unknown(_) => None,
        }
    }

    /// An expression that the whole text fits.
    fn regex(&self) -> Option<String> {
        let body = match &self.text {
            TextMatch::Exact(text) => escape_regex(text),
            TextMatch::Prefix(text) => format!("{}.*", escape_regex(text)),
            TextMatch::Suffix(text) => format!(".*{}", escape_regex(text)),
            TextMatch::Contains(text) => format!(".*{}.*", escape_regex(text)),
            // Letter case belongs to the expression itself.
            TextMatch::Regex(regex) => return Some(regex.clone()),
            TextMatch::Unknown(_) => return None,
        };
        Some(if self.ignore_case { format!("(?i){body}") } else { body })
    }

    fn unknown(&self) -> RuleCondition {
        match &self.text {
            TextMatch::Unknown(why) => RuleCondition::Unknown(why.clone()),
            _ => RuleCondition::Unknown(unsupported("the expression")),
        }
    }

    /// A condition on the path without its query.
    pub fn on_path(&self) -> RuleCondition {
        match (&self.text, self.ignore_case) {
            (TextMatch::Exact(text), false) if is_plain_path(text) => {
                RuleCondition::texts("path", &[text])
            }
            (TextMatch::Prefix(text), _) if text.is_empty() || text == "/" => {
                RuleCondition::Is(true)
            }
            (TextMatch::Prefix(text), false) if is_plain_path(text) => {
                RuleCondition::texts("path", &[format!("{text}*")])
            }
            _ => match self.regex() {
                Some(regex) => RuleCondition::texts("path-regex", &[regex]),
                None => self.unknown(),
            },
        }
    }

    /// A condition on a field of the request, which is there.
    fn on_field(&self, key: &'static str, name: &str) -> RuleCondition {
        if key == "header" && self.has_outer_blanks() {
            return RuleCondition::Is(false);
        }
        let joint = if key == "header" { ": " } else { "=" };
        match (self.glob(), self.regex()) {
            (Some(glob), _) => {
                let value = vec![value::quote(&format!("{name}{joint}{glob}"))];
                if self.ignore_case {
                    RuleCondition::AnyCase(key, value)
                } else {
                    RuleCondition::Key(key, value)
                }
            }
            (None, Some(regex)) if key == "header" => {
                RuleCondition::texts("header-regex", &[format!("{name}: {regex}")])
            }
            _ => self.unknown(),
        }
    }

    /// Whether only values with blanks at an end fit. Fields have none.
    fn has_outer_blanks(&self) -> bool {
        let blank = |c: char| matches!(c, ' ' | '\t');
        match &self.text {
            TextMatch::Exact(text) => text.starts_with(blank) || text.ends_with(blank),
            TextMatch::Prefix(text) => text.starts_with(blank),
            TextMatch::Suffix(text) => text.ends_with(blank),
            TextMatch::Contains(_) | TextMatch::Regex(_) | TextMatch::Unknown(_) => false,
        }
    }

    /// Whether the empty text fits.
    fn fits_nothing(&self) -> bool {
        match &self.text {
            TextMatch::Exact(text)
            | TextMatch::Prefix(text)
            | TextMatch::Suffix(text)
            | TextMatch::Contains(text) => text.is_empty(),
            TextMatch::Regex(_) | TextMatch::Unknown(_) => true,
        }
    }

    /// A condition on the name that the client's TLS handshake asks for.
    pub fn on_sni(&self) -> RuleCondition {
        match &self.text {
            TextMatch::Exact(text) => RuleCondition::texts("sni", &[text.to_ascii_lowercase()]),
            TextMatch::Suffix(text) if text.starts_with('.') => {
                RuleCondition::texts("sni", &[format!("*{}", text.to_ascii_lowercase())])
            }
            _ => RuleCondition::Unknown(unsupported("a part of a server name")),
        }
    }

    /// A condition on the host.
    fn on_host(&self) -> RuleCondition {
        match (&self.text, self.regex()) {
            (TextMatch::Exact(text), _) if !text.contains(':') => {
                RuleCondition::texts("host", &[text])
            }
            (
                TextMatch::Prefix(_)
                | TextMatch::Suffix(_)
                | TextMatch::Contains(_)
                | TextMatch::Regex(_),
                Some(regex),
            ) => RuleCondition::texts("host-regex", &[regex]),
            _ => RuleCondition::Unknown(unsupported("a host with its port")),
        }
    }
}

/// What every request has.
const KNOWN_PSEUDO: [&str; 4] = [":authority", ":method", ":path", ":scheme"];

/// Whether the configuration reads the path as these very characters.
pub fn is_plain_path(path: &str) -> bool {
    path.starts_with('/') && !path.contains(['*', '?', '\\', '{', '}', '[', ']'])
}

/// The condition of a matcher of fields.
pub fn header_condition(node: &ConfigNode, notes: &mut ConversionNotes) -> RuleCondition {
    let name = take_text(node, "name", notes).unwrap_or_default().to_ascii_lowercase();
    let invert = take_flag(node, "invert_match", notes).unwrap_or(false);
    let empty = take_flag(node, "treat_missing_header_as_empty", notes).unwrap_or(false);
    let present = take_flag(node, "present_match", notes);
    let matcher = header_text(node, notes);
    if node.unread_entries().next().is_some() || name.is_empty() {
        return RuleCondition::Unknown(unsupported(node.describe()));
    }
    // Envoy keeps the field Host under this name.
    let name = if name == "host" { ":authority".to_owned() } else { name };
    let pseudo = name.starts_with(':');
    let known = match (&matcher, present) {
        (Some(text), None) if pseudo => pseudo_condition(&name, text),
        (Some(text), None) if empty && text.fits_nothing() => text.unknown(),
        (Some(text), None) => text.on_field("header", &name),
        (None, present) if KNOWN_PSEUDO.contains(&name.as_str()) => {
            RuleCondition::Is(present.unwrap_or(true))
        }
        (None, _) if pseudo => RuleCondition::Unknown(unsupported(node.describe())),
        (None, Some(false)) => RuleCondition::texts("header", &[&name]).negate(),
        (None, _) => RuleCondition::texts("header", &[&name]),
        (Some(_), Some(_)) => RuleCondition::Unknown(unsupported(node.describe())),
    };
    match (invert, matcher.is_some() && !pseudo && !empty) {
        (false, _) => known,
        (true, false) => known.negate(),
        // A field that is not there does not match, also where the match is inverted.
        (true, true) => RuleCondition::texts("header", &[&name]).and(known.negate()),
    }
}

/// The matcher of a field's value, in its present or its older form.
fn header_text(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<StringMatch> {
    if let Some(matcher) = node.get("string_match") {
        return Some(StringMatch::read(matcher, notes));
    }
    for (key, make) in [
        ("exact_match", TextMatch::Exact as fn(String) -> TextMatch),
        ("prefix_match", TextMatch::Prefix),
        ("suffix_match", TextMatch::Suffix),
        ("contains_match", TextMatch::Contains),
    ] {
        if let Some(text) = take_text(node, key, notes) {
            return Some(StringMatch { text: make(text.to_owned()), ignore_case: false });
        }
    }
    let regex = node.get("safe_regex_match")?;
    let text = TextMatch::Regex(take_regex(regex, notes));
    Some(StringMatch { text, ignore_case: false })
}

fn pseudo_condition(name: &str, matcher: &StringMatch) -> RuleCondition {
    match (name, &matcher.text) {
        (":method", TextMatch::Exact(method)) => RuleCondition::texts("method", &[method]),
        (":method", TextMatch::Regex(regex)) if is_alternation(regex) => {
            let methods: Vec<&str> = regex.trim_matches(['^', '$', '(', ')']).split('|').collect();
            RuleCondition::texts("method", &methods)
        }
        (":authority", _) => matcher.on_host(),
        // The query comes behind the path.
        (":path", TextMatch::Prefix(text)) if !text.contains('?') => matcher.on_path(),
        // Behind proxies their word counts, and an edit sets it elsewhere.
        (":scheme", TextMatch::Exact(scheme)) if matches!(scheme.as_str(), "http" | "https") => {
            RuleCondition::texts("header", &[format!("x-forwarded-proto: {scheme}")])
        }
        // `:path` has the query, and a condition on the path has not.
        _ => RuleCondition::Unknown(unsupported(&format!("this match of `{name}`"))),
    }
}

/// Whether an expression is a list of words, such as `GET|HEAD`.
fn is_alternation(regex: &str) -> bool {
    let words = regex.trim_matches(['^', '$', '(', ')']);
    !words.is_empty()
        && words
            .split('|')
            .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase()))
}

/// The condition of a matcher of parameters or cookies: `key` is `query` or `cookie`.
pub fn parameter_condition(
    key: &'static str,
    node: &ConfigNode,
    notes: &mut ConversionNotes,
) -> RuleCondition {
    let name = take_text(node, "name", notes).unwrap_or_default();
    let present = take_flag(node, "present_match", notes);
    let invert = take_flag(node, "invert_match", notes).unwrap_or(false);
    let matcher = node.get("string_match").map(|matcher| StringMatch::read(matcher, notes));
    if node.unread_entries().next().is_some() || name.is_empty() {
        return RuleCondition::Unknown(unsupported(node.describe()));
    }
    let known = match (matcher, present) {
        (Some(text), None) => text.on_field(key, name),
        (None, None | Some(true)) => RuleCondition::texts(key, &[name]),
        // Versions of Envoy differ in what they make of `present_match: false`.
        (_, Some(_)) => RuleCondition::Unknown(unsupported(node.describe())),
    };
    if invert { known.negate() } else { known }
}

/// A network of `{address_prefix, prefix_len}`.
pub fn take_network(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<IpPrefix> {
    let address = take_text(node, "address_prefix", notes)?;
    let whole = if address.contains(':') { 128 } else { 32 };
    let bits = match node.get("prefix_len") {
        Some(_) => take_number(node, "prefix_len", notes).filter(|bits| *bits <= whole)?,
        None => 0,
    };
    IpPrefix::new(address.parse().ok()?, u8::try_from(bits).ok()?)
}

/// The type of an extension in `{name, typed_config}`, and the name alone where it has no configuration.
pub fn extension_type<'t>(node: &'t ConfigNode, notes: &mut ConversionNotes) -> &'t str {
    match node.get("typed_config") {
        Some(config) => take_type(config, notes),
        None => "",
    }
}
