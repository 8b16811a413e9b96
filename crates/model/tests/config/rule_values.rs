//! Mistakes in values that rules compare and write: a row each, with its key path and a part of the message.

use model::config::Severity;

use super::no_effect::{check_rows, rule, when};
use super::support::good;

#[test]
fn conditions_on_names_and_values_can_be_compared() {
    let at = |key: &str| format!("service.shop.rule[0].when.{key}");
    let part = at("host-part");
    let host_regex = at("host-regex");
    let header_regex = at("header-regex");
    let list = at("header-list");
    let case = at("value-case");
    check_rows(
        Severity::Error,
        &[
            (when("host-part = \".api\""), &part, "labels of a host", ""),
            (when("host-part = \"*.api\""), &part, "labels of a host", ""),
            (when("host-part = \"bücher\""), &part, "labels of a host", "\"xn--bcher-kva\""),
            (when("host-regex = \"(\""), &host_regex, "unclosed group", ""),
            (when("header-regex = \"x-key\""), &header_regex, "\"name: expression\"", ""),
            (when("header-regex = \"x key: a\""), &header_regex, "\"name: expression\"", ""),
            (when("header-regex = \"x-key: (a{999}){999}\""), &header_regex, "too large", ""),
            (when("header-regex = 'x-key: \\p{L}'"), &header_regex, "Unicode", ""),
            (when("header-list = \"a b: c\""), &list, "a field's name", ""),
            (when("value-case = \"ignore\", path = \"/\""), &case, "none is", ""),
            (when("value-case = \"ignor\", header = \"a\""), &case, "", "\"ignore\""),
        ],
    );
    let text = when("header-list = \"x-tag: a,b\"");
    check_rows(Severity::Warning, &[(text, &list, "`,` ends one", "")]);
}

#[test]
fn variables_of_values_exist() {
    let set = "service.shop.rule[0].rewrite.set";
    let host = "service.shop.rule[0].rewrite.host";
    check_rows(
        Severity::Error,
        &[
            (
                rule("rewrite = { set = \"x-a: {clent}\" }"),
                set,
                "no variable `{clent}`",
                "\"x-a: {client}\"",
            ),
            (
                rule("rewrite = { set = 'x-a: {\"a\":1}' }"),
                set,
                "`{{` for a brace",
                r#""x-a: {{\"a\":1}""#,
            ),
            (rule("rewrite = { host = \"{host\" }"), host, "no `}` ends it", "\"{{host\""),
            (rule("rewrite = { host = \"a/b\" }"), host, "a host", ""),
        ],
    );
}

#[test]
fn what_a_rule_changes_in_answers_can_be_sent() {
    let at = |key: &str| format!("service.shop.rule[0].{key}");
    let rewrite = |text: &str| rule(&format!("rewrite = {{ {text} }}"));
    let added = at("rewrite.response-add[0].field");
    let short = at("rewrite.response-add[0]");
    let statuses = at("rewrite.response-add[0].statuses");
    let from = at("rewrite.cookie-domain[0].from");
    let to = at("rewrite.cookie-path[0].to");
    let many = vec!["\"x-a: 1\""; 33].join(", ");
    check_rows(
        Severity::Error,
        &[
            (rewrite("response-add = \"x-a\""), &short, "a field has a name", ""),
            (rewrite("response-add = \"x-a: {x}\""), &short, "no variable", "\"x-a: {{x}\""),
            (rewrite("response-add = \"connection: x\""), &short, "written by us", ""),
            (
                rewrite("response-add = [{ field = \"a: b\", statuses = 99 }]"),
                &statuses,
                "statuses",
                "",
            ),
            (
                rewrite(&format!("response-add = [{many}]")),
                &at("rewrite.response-add"),
                "at most 32",
                "",
            ),
            (
                rewrite("location = [{ from = \"/a\", to = \"{hots}\" }]"),
                &at("rewrite.location[0].to"),
                "no variable",
                "\"{host}\"",
            ),
            (
                rewrite("location = [{ from = \"/a\" }]"),
                &at("rewrite.location[0].to"),
                "needs `to`",
                "",
            ),
            (rewrite("cookie-domain = [{ from = \"\", to = \"a\" }]"), &from, "for any", ""),
            (rewrite("cookie-domain = [{ from = \"a;b\", to = \"a\" }]"), &from, "`;`", ""),
            (rewrite("cookie-path = [{ from = \"/a\", to = \"b\" }]"), &to, "leading `/`", ""),
            (
                rule("deny = true, rewrite = { response-add = \"x-a: 1\" }"),
                &at("rewrite"),
                "choose a pool",
                "",
            ),
            (
                rule("redirect = { to = \"/\", headers = \"location: /b\" }"),
                &at("redirect.headers"),
                "two fields",
                "",
            ),
        ],
    );
    check_rows(
        Severity::Warning,
        &[(
            rewrite("response-add = [{ field = \"content-type: a/b\", own = true }]"),
            &added,
            "two fields",
            "",
        )],
    );
    good(&rule("deny = true, rewrite = { response-add = [{ field = \"x-a: 1\", own = true }] }"));
}
