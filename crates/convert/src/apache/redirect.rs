//! `Redirect` and `RedirectMatch` of a server.

use crate::condition::{RuleCondition, whole_path};
use crate::notes::ConversionNotes;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

/// The rules of a redirect, within `scope`. `section`: the path of the section that has it, where it names none.
pub fn rules(one: &ConfigStatement, section: &str, notes: &mut ConversionNotes) -> Vec<SiteRule> {
    let words = one.words_from(0).to_vec();
    one.settle_converted(notes);
    let first = words.first().map_or("", String::as_str).to_ascii_lowercase();
    let named = match first.as_str() {
        "permanent" => Some(301),
        "temp" => Some(302),
        "seeother" => Some(303),
        "gone" => Some(410),
        text => text.parse::<u16>().ok(),
    };
    let usual = match one.name.as_str() {
        "redirectpermanent" => 301,
        _ => 302,
    };
    let status = named.unwrap_or(usual);
    let rest = &words[usize::from(named.is_some())..];
    let is_answer = !(300..400).contains(&status);
    // Within a section the path may be missing.
    let has_path = rest.len() > 1 || is_answer && !rest.is_empty();
    let path = if has_path { rest[0].as_str() } else { section };
    let to = rest.get(usize::from(has_path)).map_or("", String::as_str);
    let is_match = one.name == "redirectmatch";
    let good = matches!(status, 301 | 302 | 303 | 307 | 308);
    if is_answer {
        let when = match is_match {
            true => RuleCondition::texts("path-regex", &[whole_path(path, false)]),
            false => super::scope::SectionPath::below(path).when,
        };
        return vec![SiteRule::answer(when, status, one.source, &one.text())];
    }
    let template = to.contains(['{', '%']) || to.is_empty();
    if template || !good || path.is_empty() {
        one.leave_out("the target or the status cannot be written: 502", "`redirect`", notes);
        let when = super::scope::SectionPath::below(path).when;
        return vec![SiteRule::answer(when, 502, one.source, &one.text())];
    }
    let query = if to.contains('?') { "" } else { "{query}" };
    let rule = |when: RuleCondition, to: String| {
        let keys =
            [KeyValue::new("to", value::quote(&to)), KeyValue::new("status", status.to_string())];
        let keys = vec![KeyValue::new("redirect", value::table(&keys))];
        SiteRule { when, keys, source: one.source, text: one.text() }
    };
    if is_match {
        let mut target = to.to_owned();
        for digit in 1..=9 {
            target = target.replace(&format!("${digit}"), &format!("{{{digit}}}"));
        }
        let universal = matches!(path, "(.*)" | "^(.*)$" | "^(/.*)$");
        if universal {
            return vec![rule(
                RuleCondition::Is(true),
                format!("{}{query}", target.replace("{1}", "{path}")),
            )];
        }
        let when = RuleCondition::texts("path-regex", &[whole_path(path, false)]);
        return vec![rule(when, format!("{target}{query}"))];
    }
    let bare = path.trim_end_matches('/');
    if bare.is_empty() {
        let target = format!("{}{{path}}{query}", to.trim_end_matches('/'));
        return vec![rule(RuleCondition::Is(true), target)];
    }
    let below = RuleCondition::texts("path", &[format!("{bare}/*")]);
    if path.ends_with('/') {
        return vec![rule(below, format!("{to}{{rest}}{query}"))];
    }
    let exact = RuleCondition::texts("path", &[bare]);
    let joint = to.trim_end_matches('/');
    vec![rule(exact, format!("{to}{query}")), rule(below, format!("{joint}/{{rest}}{query}"))]
}
