//! Verifies the outputs of rules: redirect targets, rewritten paths, header fields, fixed responses. A template may use
//! only values that the rule's conditions provide.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::matching::PathPattern;
use crate::config::pattern::Pattern;
use crate::config::section::ConfigSection;
use crate::config::template::Template;

/// Statuses of responses without a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5).
const STATUSES_WITHOUT_BODY: [u16; 3] = [204, 205, 304];

/// Pairs and fields in one list of a rewrite: each is compared with fields of every answer.
const MAX_PAIRS: usize = 32;

pub fn verify_rule_actions(rule: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let when = rule.table("when");
    if let Some(redirect) = rule.table("redirect") {
        verify_template(redirect, "to", when, &format!("{path}.redirect.to"), sink);
        if has_field(redirect.texts("headers"), "location") {
            let trouble = FindingDetails::new("the answer would have two fields `Location`");
            let path = format!("{path}.redirect.headers");
            let trouble = trouble.with_expected("`to` alone, which writes it");
            sink.error(redirect.span_of("headers"), &path, trouble);
        }
    }
    if let Some(rewrite) = rule.table("rewrite") {
        let path = format!("{path}.rewrite");
        verify_template(rewrite, "path", when, &format!("{path}.path"), sink);
        verify_field_changes(rewrite, &path, sink);
    }
    if let Some(fixed) = rule.table("answer") {
        verify_fixed_answer(fixed, &format!("{path}.answer"), sink);
    }
}

/// Verifies a template, and that the conditions provide its values.
fn verify_template(
    section: &ConfigSection,
    key: &str,
    when: Option<&ConfigSection>,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let Some(text) = section.text(key) else { return };
    let mut wrong = |trouble: FindingDetails| sink.error(section.span_of(key), path, trouble);
    let schemes = key == "to";
    let leads = text.starts_with(['/', '{'])
        || schemes && (text.starts_with("http://") || text.starts_with("https://"));
    if !leads {
        let expected = if schemes { "a path, or a URL with its scheme" } else { "a path" };
        wrong(FindingDetails::new("this leads nowhere").with_expected(expected));
    }
    let Some(template) = Template::parse(text) else { return };
    if !schemes && template.has_literal_character(&['?', '#']) {
        let message = "a path ends before `?` and `#`: what stands there would be read as its query, before the request's own";
        wrong(
            FindingDetails::new(message)
                .with_expected("a path alone: the query stays, or stands where `{query}` does"),
        );
    }
    if schemes && template.has_query() && template.has_literal_character(&['?']) {
        let message = "`{query}` begins with a `?` of its own, and the text has one already";
        wrong(
            FindingDetails::new(message)
                .with_expected("`{query}` or a query of the rule's, not both; or `{more-query}`"),
        );
    }
    if template.has_loose_query() {
        let message = "`{more-query}` begins with an `&`, and the text has no query in front of it";
        wrong(FindingDetails::new(message).with_expected("`{query}`"));
    }
    let Some(when) = when else { return };
    let highest = template.highest_group();
    let groups = max_capture_groups(when);
    match groups {
        None if highest > 0 => {
            wrong(FindingDetails::new("a group is put in, and the rule has no `path-regex`"));
        }
        Some(groups) if highest > groups => {
            let trouble = FindingDetails::new(format!(
                "`{{{highest}}}` is always empty: `path-regex` has {groups} {}",
                if groups == 1 { "group" } else { "groups" }
            ));
            wrong(trouble.with_expected("a group in brackets in `path-regex` for each number"));
        }
        _ => {}
    }
    if template.has_rest() && !has_prefix_path(when) {
        let message = "`{rest}` is always empty: it is what the last `*` of `path` stands for, and no `path` of the rule ends in one";
        wrong(FindingDetails::new(message).with_expected("`path` such as \"/old/*\", or `{path}`"));
    }
}

/// The largest number of capture groups among the expressions that must match; `None`: no expression.
fn max_capture_groups(when: &ConfigSection) -> Option<usize> {
    let own = when.texts("path-regex").iter();
    let own = own.map(|text| Pattern::new(text).map_or(0, |pattern| pattern.groups()));
    own.chain(when.list("all").iter().filter_map(max_capture_groups)).max()
}

/// Whether one of the paths that must match ends in its only `*`.
fn has_prefix_path(when: &ConfigSection) -> bool {
    let prefix = |text: &String| matches!(PathPattern::parse(text), Some(PathPattern::Prefix(_)));
    when.is_invalid("path")
        || when.texts("path").iter().any(prefix)
        || when.list("all").iter().any(has_prefix_path)
}

/// Verifies what is changed in a request and in its answer, without the new path.
pub fn verify_field_changes(
    rewrite: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    verify_rewrite(rewrite, path, sink);
    verify_response_rewrite(rewrite, path, sink);
}

/// Verifies removed and added prefixes, and header fields.
fn verify_rewrite(rewrite: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    for key in ["strip", "prefix"] {
        if rewrite.text(key).is_some_and(|text| text.contains('?')) {
            let trouble = FindingDetails::new("a path ends before `?`")
                .with_expected("a path without a query");
            sink.error(rewrite.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    let name = |field: &String| field.split(':').next().unwrap_or_default().to_ascii_lowercase();
    for (set, remove) in [("set", "remove"), ("response-set", "response-remove")] {
        let names: Vec<String> = rewrite.texts(set).iter().map(name).collect();
        let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
        if let Some(twice) = twice.and_then(|at| names.get(at)) {
            let trouble =
                FindingDetails::new(format!("`{twice}` is set twice, and both fields are sent"));
            let trouble = trouble.with_expected("each name once");
            sink.warning(rewrite.span_of(set), &format!("{path}.{set}"), trouble);
        }
        let removed = rewrite.texts(remove).iter().map(name).find(|name| names.contains(name));
        if let Some(removed) = removed {
            let message =
                format!("`{removed}` is set as well: what is set replaces the field anyway");
            sink.warning(
                rewrite.span_of(remove),
                &format!("{path}.{remove}"),
                FindingDetails::new(message),
            );
        }
    }
}

/// What is changed in answers.
fn verify_response_rewrite(
    rewrite: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    for key in ["response-add", "location", "cookie-domain", "cookie-path"] {
        let list = rewrite.list(key);
        if list.len() > MAX_PAIRS {
            let trouble = FindingDetails::new(format!("{} of them are too many", list.len()))
                .with_expected(format!("at most {MAX_PAIRS} in one rule"));
            sink.error(rewrite.span_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    for (at, added) in rewrite.list("response-add").iter().enumerate() {
        let field = added.text("field").map(str::to_owned);
        if added.flag("own") && has_field(field.as_slice(), "content-type") {
            // Other balancers send both, and clients take the last one: a converted rule has to do the same.
            let message = "own answers with a body have two fields `Content-Type`";
            let path = format!("{path}.response-add[{at}].field");
            let trouble = FindingDetails::new(message)
                .with_expected("`type` of the answer instead, or no `own`");
            sink.warning(added.span_of("field"), &path, trouble);
        }
    }
    for key in ["cookie-domain", "cookie-path"] {
        for (at, pair) in rewrite.list(key).iter().enumerate() {
            let path = format!("{path}.{key}[{at}]");
            let begins = |end: &str| {
                pair.text(end).is_none_or(|text| matches!(text, "" | "*") || text.starts_with('/'))
            };
            if pair.text("from") == Some("") {
                let trouble = FindingDetails::new("no attribute is empty");
                let trouble = trouble.with_expected("`\"*\"` for any");
                sink.error(pair.span_of("from"), &format!("{path}.from"), trouble);
            }
            if let Some(end) = ["from", "to"].into_iter().find(|end| !begins(end))
                && key == "cookie-path"
            {
                let trouble = FindingDetails::new("no path of a cookie begins so");
                let trouble = trouble.with_expected("a path with a leading `/`");
                sink.error(pair.span_of(end), &format!("{path}.{end}"), trouble);
            }
        }
    }
}

fn has_field(fields: &[String], wanted: &str) -> bool {
    fields
        .iter()
        .filter_map(|field| field.split(':').next())
        .any(|name| name.eq_ignore_ascii_case(wanted))
}

/// A fixed answer: what its status can carry.
fn verify_fixed_answer(answer: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let status: u16 = answer.count_or_zero("status");
    let body = answer.text("body").is_some_and(|body| !body.is_empty());
    if body && STATUSES_WITHOUT_BODY.contains(&status) {
        let trouble = FindingDetails::new(format!("an answer of status {status} has no body"));
        let trouble = trouble.with_expected("no `body`, or another status, such as 200");
        sink.error(answer.span_of("body"), &format!("{path}.body"), trouble);
    }
    if body && has_field(answer.texts("headers"), "content-type") {
        let trouble = FindingDetails::new("the answer would have two fields `Content-Type`");
        let trouble = trouble.with_expected("`type = \"text/html\"` instead");
        sink.error(answer.span_of("headers"), &format!("{path}.headers"), trouble);
    }
    if !body && answer.text("type") != Some("text/plain") && answer.is_written("type") {
        let message = "`type` has no effect: the answer has no `body`";
        sink.warning(answer.span_of("type"), &format!("{path}.type"), FindingDetails::new(message));
    }
}
