//! Verifies authentication: what each kind needs and knows, and who refers to it.

use std::collections::{BTreeMap, BTreeSet};

use super::logged_secrets::verify_logged_fields;
use super::verify_key_url::verify_key_url;
use super::verify_question::verify_question;
use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::suggestion::nearest_match;
use crate::config::unsupported_keys::written_keys;
use crate::request_head::same_name;

/// Keys that some kinds do not know, with the kinds that do.
const KEYS_OF_KINDS: [KindKey; 26] = [
    KindKey { key: "file", kinds: FILE_KINDS },
    KindKey { key: "user-field", kinds: FILE_KINDS },
    KindKey { key: "keep-credentials", kinds: FILE_KINDS },
    KindKey { key: "realm", kinds: &["basic", "jwt"] },
    KindKey { key: "header", kinds: &["api-key", "jwt"] },
    KindKey { key: "query", kinds: &["api-key"] },
    KindKey { key: "cache", kinds: &["basic", "jwt", "request"] },
    KindKey { key: "cookie", kinds: &["jwt"] },
    KindKey { key: "jwks-url", kinds: &["jwt"] },
    KindKey { key: "ca", kinds: &["jwt"] },
    KindKey { key: "refresh", kinds: &["jwt"] },
    KindKey { key: "max-stale", kinds: &["jwt"] },
    KindKey { key: "algorithms", kinds: &["jwt"] },
    KindKey { key: "issuer", kinds: &["jwt"] },
    KindKey { key: "audience", kinds: &["jwt"] },
    KindKey { key: "leeway", kinds: &["jwt"] },
    KindKey { key: "required-claims", kinds: &["jwt"] },
    KindKey { key: "claim-fields", kinds: &["jwt"] },
    KindKey { key: "pool", kinds: &["request"] },
    KindKey { key: "path", kinds: &["request"] },
    KindKey { key: "host", kinds: &["request"] },
    KindKey { key: "timeout", kinds: &["request"] },
    KindKey { key: "request-headers", kinds: &["request"] },
    KindKey { key: "response-headers", kinds: &["request"] },
    KindKey { key: "on-failure", kinds: &["request"] },
    KindKey { key: "max-concurrent", kinds: &["request"] },
];

/// Kinds that check credentials themselves, by a file.
const FILE_KINDS: &[&str] = &["basic", "api-key", "jwt"];

/// Fields that servers read otherwise than as the name of a user.
const OTHER_MEANING: [&str; 6] =
    ["authorization", "cookie", "forwarded", "via", "x-forwarded-for", "x-forwarded-proto"];

struct KindKey {
    key: &'static str,
    kinds: &'static [&'static str],
}

/// Verifies all objects. `whole`: the file was parsed completely.
pub fn verify_auth(
    effective: &EffectiveSettings,
    whole: bool,
    sink: &mut FindingCollector<'_, '_>,
) {
    for object in &effective.auths {
        verify_object(object, whole, sink);
        verify_question(object, effective, whole, sink);
    }
    verify_logged_fields(effective, sink);
    let names: BTreeMap<&str, &ConfigSection> =
        effective.auths.iter().map(|object| (object.name.as_str(), object)).collect();
    let mut used = BTreeSet::new();
    for service in &effective.services {
        let path = format!("service.{}", quote_key(&service.name));
        if let Some(name) = service.text("auth") {
            used.insert(name);
            if whole && !names.contains_key(name) {
                refuse_unknown(service, &path, name, &names, sink);
            }
        }
        for (at, rule) in service.list("rule").iter().enumerate() {
            if let Some(name) = rule.text("auth").filter(|name| *name != "off") {
                used.insert(name);
                if whole && !names.contains_key(name) {
                    refuse_unknown(rule, &format!("{path}.rule[{at}]"), name, &names, sink);
                }
            }
            if rule.flag("deny") && rule.is_written("auth") {
                let trouble = FindingDetails::new("who is denied in any case proves nothing")
                    .with_expected("`deny` without `auth`");
                sink.error(rule.span_of("auth"), &format!("{path}.rule[{at}].auth"), trouble);
            }
        }
    }
    for object in effective.auths.iter().filter(|object| !used.contains(object.name.as_str())) {
        let trouble = FindingDetails::new("no service and no rule names it");
        sink.warning(object.span, &format!("auth.{}", quote_key(&object.name)), trouble);
    }
}

fn verify_object(object: &ConfigSection, whole: bool, sink: &mut FindingCollector<'_, '_>) {
    let path = format!("auth.{}", quote_key(&object.name));
    let Some(kind) = object.text("kind") else { return };
    if object.name == "off" {
        let trouble = FindingDetails::new("`auth = \"off\"` in a rule means that nobody is asked");
        sink.error(object.span, &path, trouble.with_expected("another name"));
    }
    let is_there = |key: &str| object.text(key).is_some() || object.is_invalid(key);
    let has_keys = is_there("file") || kind == "jwt" && is_there("jwks-url");
    if FILE_KINDS.contains(&kind) && whole && !has_keys {
        let or_url = if kind == "jwt" { " or `jwks-url`" } else { "" };
        let trouble = FindingDetails::new(format!("`kind = \"{kind}\"` needs `file`{or_url}"))
            .with_found("nothing")
            .with_expected("the path of a file");
        sink.error(object.span, &format!("{path}.file"), trouble);
    }
    let written: BTreeSet<&str> = written_keys(object, "kind").collect();
    for KindKey { key, kinds } in KEYS_OF_KINDS {
        if written.contains(key) && !kinds.contains(&kind) {
            let message = format!("`{key}` has no effect with `kind = \"{kind}\"`");
            let trouble = FindingDetails::new(message)
                .with_expected(format!("`kind = \"{}\"`, or no `{key}`", kinds.join("\" or \"")));
            sink.error(object.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    if kind == "jwt" {
        verify_key_url(object, &path, sink);
    }
    if kind == "jwt" && whole && object.texts("issuer").is_empty() && !object.is_invalid("issuer") {
        let trouble = FindingDetails::new("`kind = \"jwt\"` needs `issuer`")
            .with_found("nothing")
            .with_expected("who may have issued a token, as it says in `iss`");
        sink.error(object.span, &format!("{path}.issuer"), trouble);
    }
    verify_fields(object, &path, sink);
}

/// Fields that are read or written have no other meaning, and no two of them are one.
fn verify_fields(object: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let named = |key: &'static str| object.text(key).map(|name| NamedField { key, name });
    let of_claims = object.texts("claim-fields").iter().map(|line| NamedField {
        key: "claim-fields",
        name: line.split(':').next().unwrap_or_default().trim(),
    });
    let mut written: Vec<&str> = Vec::new();
    for NamedField { key, name } in
        named("user-field").into_iter().chain(named("header")).chain(of_claims)
    {
        let is_same = |other: &&str| same_name(name.as_bytes(), other.as_bytes());
        let is_key_field = key == "header" && name.eq_ignore_ascii_case("authorization");
        if OTHER_MEANING.iter().any(is_same) && !is_key_field {
            let trouble = FindingDetails::new(format!("`{name}` has another meaning"));
            let trouble = trouble.with_expected("a field of its own, such as \"X-User\"");
            sink.error(object.span_of(key), &format!("{path}.{key}"), trouble);
        }
        if key != "header" && written.iter().any(is_same) {
            let trouble = FindingDetails::new(format!("`{name}` is written twice"));
            let trouble = trouble.with_expected("another field for each claim");
            sink.error(object.span_of(key), &format!("{path}.{key}"), trouble);
        }
        written.push(name);
    }
}

/// A field that a key names.
struct NamedField<'c> {
    key: &'static str,
    name: &'c str,
}

fn refuse_unknown(
    section: &ConfigSection,
    path: &str,
    name: &str,
    names: &BTreeMap<&str, &ConfigSection>,
    sink: &mut FindingCollector<'_, '_>,
) {
    let near = match sink.wants_suggestions() {
        true => nearest_match(name, names.keys().copied()),
        false => None,
    };
    let trouble = FindingDetails::new(format!("there is no authentication `{name}`"))
        .with_expected("the name of a table `[auth.NAME]`")
        .with_suggestion(near.map(|name| format!("\"{name}\"")));
    sink.error(section.span_of("auth"), &format!("{path}.auth"), trouble);
}
