//! Judges what rules write: where a redirect leads, what a path becomes, fields, fixed answers. A template is held against
//! what the rule's conditions can fill it with.

use super::super::super::finding::{Sink, Trouble};
use super::super::super::matching::PathPattern;
use super::super::super::pattern::Pattern;
use super::super::super::section::Section;
use super::super::super::template::Template;

/// Answers that have no body (RFC 9110 §15.3.5, §15.3.6, §15.4.5).
const BODILESS: [u16; 3] = [204, 205, 304];

/// Judge a rule.
pub(super) fn verify(rule: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let when = rule.table("when");
    if let Some(redirect) = rule.table("redirect") {
        template(redirect, "to", when, &format!("{path}.redirect.to"), sink);
    }
    if let Some(rewrite) = rule.table("rewrite") {
        let path = format!("{path}.rewrite");
        template(rewrite, "path", when, &format!("{path}.path"), sink);
        rewritten(rewrite, &path, sink);
    }
    if let Some(fixed) = rule.table("answer") {
        answer(fixed, &format!("{path}.answer"), sink);
    }
}

/// A template, and what it can be filled from.
fn template(
    section: &Section,
    key: &str,
    when: Option<&Section>,
    path: &str,
    sink: &mut Sink<'_, '_>,
) {
    let Some(text) = section.text(key) else { return };
    let mut wrong = |trouble: Trouble| sink.error(section.place_of(key), path, trouble);
    let schemes = key == "to";
    let leads = text.starts_with(['/', '{'])
        || schemes && (text.starts_with("http://") || text.starts_with("https://"));
    if !leads {
        let expected = if schemes { "a path, or a URL with its scheme" } else { "a path" };
        wrong(Trouble::new("this leads nowhere").expected(expected));
    }
    let Some(template) = Template::parse(text) else { return };
    if !schemes && template.writes(&['?', '#']) {
        let message = "a path ends before `?` and `#`: what stands there would be read as its query, before the request's own";
        wrong(
            Trouble::new(message)
                .expected("a path alone: the query stays, or stands where `{query}` does"),
        );
    }
    if schemes && template.has_query() && template.writes(&['?']) {
        let message = "`{query}` begins with a `?` of its own, and the text has one already";
        wrong(Trouble::new(message).expected("`{query}` or a query of the rule's, not both"));
    }
    let Some(when) = when else { return };
    let highest = template.highest_group();
    let groups = most_groups(when);
    match groups {
        None if highest > 0 => {
            wrong(Trouble::new("a group is put in, and the rule has no `path-regex`"));
        }
        Some(groups) if highest > groups => {
            let trouble = Trouble::new(format!(
                "`{{{highest}}}` is always empty: `path-regex` has {groups} {}",
                if groups == 1 { "group" } else { "groups" }
            ));
            wrong(trouble.expected("a group in brackets in `path-regex` for each number"));
        }
        _ => {}
    }
    if template.has_rest() && !has_prefix(when) {
        let message = "`{rest}` is always empty: it is what the last `*` of `path` stands for, and no `path` of the rule ends in one";
        wrong(Trouble::new(message).expected("`path` such as \"/old/*\", or `{path}`"));
    }
}

/// Groups of the expression that has most of them, of those that must hold; `None`: there is none.
fn most_groups(when: &Section) -> Option<usize> {
    let own = when.texts("path-regex").iter();
    let own = own.map(|text| Pattern::new(text).map_or(0, |pattern| pattern.groups()));
    own.chain(when.list("all").iter().filter_map(most_groups)).max()
}

/// Whether one of the paths that must hold ends in its only `*`.
fn has_prefix(when: &Section) -> bool {
    let prefix = |text: &String| matches!(PathPattern::parse(text), Some(PathPattern::Prefix(_)));
    when.broken("path")
        || when.texts("path").iter().any(prefix)
        || when.list("all").iter().any(has_prefix)
}

/// What is taken off and put on, and the fields.
fn rewritten(rewrite: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    for key in ["strip", "prefix"] {
        if rewrite.text(key).is_some_and(|text| text.contains('?')) {
            let trouble = Trouble::new("a path ends before `?`").expected("a path without a query");
            sink.error(rewrite.place_of(key), &format!("{path}.{key}"), trouble);
        }
    }
    let name = |field: &String| field.split(':').next().unwrap_or_default().to_ascii_lowercase();
    for (set, remove) in [("set", "remove"), ("answer-set", "answer-remove")] {
        let names: Vec<String> = rewrite.texts(set).iter().map(name).collect();
        let twice = (1..names.len()).find(|at| names[..*at].contains(&names[*at]));
        if let Some(twice) = twice.and_then(|at| names.get(at)) {
            let trouble = Trouble::new(format!("`{twice}` is set twice, and both fields are sent"));
            let trouble = trouble.expected("each name once");
            sink.warning(rewrite.place_of(set), &format!("{path}.{set}"), trouble);
        }
        let removed = rewrite.texts(remove).iter().map(name).find(|name| names.contains(name));
        if let Some(removed) = removed {
            let message =
                format!("`{removed}` is set as well: what is set replaces the field anyway");
            sink.warning(
                rewrite.place_of(remove),
                &format!("{path}.{remove}"),
                Trouble::new(message),
            );
        }
    }
}

/// A fixed answer: what its status can carry.
fn answer(answer: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let status: u16 = answer.number("status");
    let body = answer.text("body").is_some_and(|body| !body.is_empty());
    if body && BODILESS.contains(&status) {
        let trouble = Trouble::new(format!("an answer of status {status} has no body"));
        let trouble = trouble.expected("no `body`, or another status, such as 200");
        sink.error(answer.place_of("body"), &format!("{path}.body"), trouble);
    }
    let typed = |field: &String| {
        field.split(':').next().is_some_and(|name| name.eq_ignore_ascii_case("content-type"))
    };
    if body && answer.texts("headers").iter().any(typed) {
        let trouble = Trouble::new("the answer would have two fields `Content-Type`");
        let trouble = trouble.expected("`type = \"text/html\"` instead");
        sink.error(answer.place_of("headers"), &format!("{path}.headers"), trouble);
    }
    if !body && answer.text("type") != Some("text/plain") && answer.wrote("type") {
        let message = "`type` has no effect: the answer has no `body`";
        sink.warning(answer.place_of("type"), &format!("{path}.type"), Trouble::new(message));
    }
}
