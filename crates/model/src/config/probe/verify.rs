//! Verifies one health check or agent: its kind, the keys of the kind, and its times.

use super::keys::{FLAGS, KINDS, OF_KINDS};
use super::resolve::probe_kind;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::ldap_filter::LdapFilter;
use crate::config::matching::NumberRange;
use crate::config::section::ConfigSection;
use crate::config::unit::Time;

/// Verifies the effective settings of a health check.
pub fn verify_probe(probe: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(kind) = probe_kind(probe) else {
        let trouble =
            FindingDetails::new("the probe does not say what to do").with_expected(format!(
                "`tcp = true`, `http = \"/PATH\"`, or another kind: {}, program, tls",
                KINDS.join(", ")
            ));
        sink.error(probe.span, path, trouble);
        return verify_timers(probe, path, sink);
    };
    for flag in FLAGS.iter().chain(&["udp", "radius"]) {
        if probe.is_written(flag) && !probe.is_invalid(flag) && !probe.flag(flag) {
            let trouble = FindingDetails::new(format!("`{flag}` can only be true"))
                .with_expected(format!("`{flag} = true`, or `probe = \"off\"`"));
            sink.error(probe.span_of(flag), &format!("{path}.{flag}"), trouble);
        }
    }
    for (key, kinds) in OF_KINDS {
        if probe.is_written(key) && !kinds.contains(&kind) && !is_unset_or_invalid(probe, key) {
            let trouble =
                FindingDetails::new(format!("`{key}` means nothing for a probe `{kind}`"))
                    .with_expected(format!("a probe of {}", kinds.join(", ")));
            sink.error(probe.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    verify_key_combinations(probe, kind, path, sink);
    verify_timers(probe, path, sink);
}

/// Whether the key has the keyword for unset, or a faulty value that has been reported.
fn is_unset_or_invalid(probe: &ConfigSection, key: &str) -> bool {
    let unset = matches!(probe.value(key), Some(crate::config::value::ConfigValue::Unset(_)));
    unset || probe.is_invalid(key)
}

fn verify_key_combinations(
    probe: &ConfigSection,
    kind: &str,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let mut say = |key: &str, message: &str| {
        sink.error(probe.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
    };
    let has = |key: &str| probe.text(key).is_some() || probe.is_invalid(key);
    if kind == "tcp" && has("send") && !has("expect") {
        say("send", "what is sent proves nothing unless `expect` says what must come");
    }
    if kind == "udp" && !has("send") {
        say("udp", "a server answers only what is sent: `send` is missing");
    }
    if kind == "radius" && !has("secret-file") {
        say("radius", "`secret-file` is missing: only a signed question is answered");
    }
    if kind == "ldap" && has("secret-file") && !has("user") {
        say("secret-file", "a password needs a `user`");
    }
    if kind == "ldap" {
        verify_ldap_search(probe, path, sink);
    }
    let mut say = |key: &str, message: &str| {
        sink.error(probe.span_of(key), &format!("{path}.{key}"), FindingDetails::new(message));
    };
    if kind == "program" && !probe.is_invalid("program") && !is_absolute(probe.text("program")) {
        say("program", "the path must be absolute: it begins with `/`");
    }
    let bodiless = probe.text("method").is_some_and(|method| method == "HEAD");
    for key in ["expect", "digest"] {
        if bodiless && has(key) && matches!(kind, "http" | "http2") {
            say(key, "an answer to HEAD has no body to look at");
        }
    }
}

/// The most entries that a search of a health check reads.
pub const LDAP_ENTRIES: u64 = 1_000;

fn verify_ldap_search(probe: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let mut say = |key: &str, message: &str, expected: &str| {
        let details = FindingDetails::new(message).with_expected(expected);
        sink.error(probe.span_of(key), &format!("{path}.{key}"), details);
    };
    let searches = probe.text("base").is_some() || probe.is_invalid("base");
    for key in ["scope", "filter", "entries", "attribute", "expect"] {
        if !searches && probe.is_written(key) {
            let example = "`base`, the DN to search from, such as \"dc=example,dc=org\"";
            say(key, "it is about a search, and none is made without `base`", example);
        }
    }
    if probe.is_written("expect") && probe.text("attribute").is_none() {
        say(
            "expect",
            "it is about the values of an attribute",
            "`attribute`, whose values must match",
        );
    }
    if let Some(Err(error)) = probe.text("filter").map(LdapFilter::new) {
        say("filter", &error.to_string(), "a filter such as \"(&(objectClass=person)(mail=*))\"");
    }
    let Some(entries) = probe.text("entries").and_then(NumberRange::parse) else { return };
    let most = if entries.max == u64::MAX { entries.min } else { entries.max };
    if most > LDAP_ENTRIES {
        say(
            "entries",
            "a health check reads 1000 entries at most",
            "a number or a range up to 1000",
        );
    }
    if entries.max == 0 && probe.text("attribute").is_some() {
        say("attribute", "no entry has it where none may be found", "`entries` of at least 1");
    }
}

fn is_absolute(path: Option<&str>) -> bool {
    path.is_some_and(|path| path.starts_with('/'))
}

fn verify_timers(probe: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    verify_within_interval(probe, &["timeout", "fast-interval"], path, sink);
}

/// Reports times that exceed the interval.
pub fn verify_within_interval(
    section: &ConfigSection,
    keys: &[&str],
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(every) = section.time("interval") else { return };
    for key in keys {
        let Some(time) = section.time(key).filter(|time| *time > every) else { continue };
        let culprit = if section.is_written(key) { key } else { "interval" };
        let message =
            format!("`{key}` ({}) is longer than `interval` ({})", Time(time), Time(every));
        sink.error(
            section.span_of(culprit),
            &format!("{path}.{culprit}"),
            FindingDetails::new(message),
        );
    }
}
