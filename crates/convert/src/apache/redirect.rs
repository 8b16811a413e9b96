//! `Redirect` and `RedirectMatch` of a server and of its sections.

use crate::condition::RuleCondition;
use crate::nginx::path_text::encode_path;
use crate::notes::ConversionNotes;
use crate::path_expression::path_expression;
use crate::site_rule::SiteRule;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::scope::SectionPath;

/// The directives that are read here.
pub const NAMES: [&str; 4] = ["redirect", "redirectmatch", "redirectpermanent", "redirecttemp"];

/// The words of a redirect.
struct RedirectWords {
    status: u16,
    /// `None`: the section says it.
    path: Option<String>,
    to: String,
}

impl RedirectWords {
    fn read(one: &ConfigStatement) -> RedirectWords {
        let words = one.words_from(0);
        let first = words.first().map_or("", String::as_str).to_ascii_lowercase();
        let named = match first.as_str() {
            "permanent" => Some(301),
            "temp" => Some(302),
            "seeother" => Some(303),
            "gone" => Some(410),
            text => text.parse::<u16>().ok(),
        };
        let usual = if one.name == "redirectpermanent" { 301 } else { 302 };
        let status = named.unwrap_or(usual);
        let rest = &words[usize::from(named.is_some())..];
        let has_path = rest.len() > 1 || !(300..400).contains(&status) && !rest.is_empty();
        let path = rest.first().filter(|_| has_path).cloned();
        let to = rest.get(usize::from(has_path)).cloned().unwrap_or_default();
        RedirectWords { status, path, to }
    }

    fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status)
    }

    /// Whether rules can send clients to the target.
    fn is_writable(&self) -> bool {
        let status = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        status && !self.to.is_empty() && !self.to.contains(['{', '%'])
    }

    /// The target behind which the query follows, unless it has one.
    fn with_query(&self, to: &str) -> String {
        format!("{to}{}", if self.to.contains('?') { "" } else { "{query}" })
    }

    fn rule(&self, when: RuleCondition, to: &str, one: &ConfigStatement) -> SiteRule {
        let keys = [
            KeyValue::new("to", value::quote(&self.with_query(to))),
            KeyValue::new("status", self.status.to_string()),
        ];
        let keys = vec![KeyValue::new("redirect", value::table(&keys))];
        SiteRule { when, keys, source: one.source, text: one.text() }
    }

    /// The paths that the redirect is about.
    fn place(&self, one: &ConfigStatement) -> RuleCondition {
        match &self.path {
            None => RuleCondition::Is(true),
            Some(path) if one.name == "redirectmatch" => SectionPath::found_by(path).when,
            Some(path) => SectionPath::below(path).when,
        }
    }
}

/// The rules of a redirect of a section, for the paths of the section.
pub fn section_rules(
    one: &ConfigStatement,
    section: &RuleCondition,
    notes: &mut ConversionNotes,
) -> Vec<SiteRule> {
    let words = RedirectWords::read(one);
    let all = match words.path {
        None if words.is_redirect() && words.is_writable() => {
            one.settle_converted(notes);
            vec![words.rule(RuleCondition::Is(true), &words.to, one)]
        }
        _ => rules(one, notes),
    };
    all.into_iter().map(|rule| rule.with_condition(section)).collect()
}

/// The rules of a redirect.
pub fn rules(one: &ConfigStatement, notes: &mut ConversionNotes) -> Vec<SiteRule> {
    let words = RedirectWords::read(one);
    one.settle_converted(notes);
    if !words.is_redirect() {
        return vec![SiteRule::answer(words.place(one), words.status, one.source, &one.text())];
    }
    let Some(path) = words.path.clone().filter(|_| words.is_writable()) else {
        one.leave_out("the target or the status cannot be written: 502", "`redirect`", notes);
        return vec![SiteRule::answer(words.place(one), 502, one.source, &one.text())];
    };
    let to = words.to.as_str();
    if one.name == "redirectmatch" {
        let digits = (1..=9).map(|digit| format!("${digit}")).zip(1..=9);
        let groups =
            |to: String, group: (String, i32)| to.replace(&group.0, &format!("{{{}}}", group.1));
        let target = digits.fold(to.to_owned(), groups);
        if matches!(path.as_str(), "(.*)" | "^(.*)$" | "^(/.*)$") {
            let target = target.replace("{1}", "{path}");
            return vec![words.rule(RuleCondition::Is(true), &target, one)];
        }
        let when = RuleCondition::texts("path-regex", &[path_expression(&path, false)]);
        return vec![words.rule(when, &target, one)];
    }
    let bare = encode_path(path.trim_end_matches('/'));
    let bare = bare.as_str();
    let joint = to.trim_end_matches('/');
    if bare.is_empty() {
        return vec![words.rule(RuleCondition::Is(true), &format!("{joint}{{path}}"), one)];
    }
    let below = RuleCondition::texts("path", &[format!("{bare}/*")]);
    // An empty `{rest}` would take the slash before it along.
    let folder = RuleCondition::texts("path", &[format!("{bare}/")]);
    if path.ends_with('/') {
        let own = to.ends_with('/').then(|| words.rule(folder, to, one));
        return own.into_iter().chain([words.rule(below, &format!("{to}{{rest}}"), one)]).collect();
    }
    let exact = RuleCondition::texts("path", &[bare]);
    vec![
        words.rule(exact, to, one),
        words.rule(folder, &format!("{joint}/"), one),
        words.rule(below, &format!("{joint}/{{rest}}"), one),
    ]
}
