//! Rules with ambiguous values: names of fields, cookies, parameters, methods.

use model::rules::{RuleMatch, RuleTable};

use super::{TestFacts, TestRequest, evaluate, get, service};

/// The matches of a rule that denies, and of one that chooses a pool.
fn found(when: &str, request: &TestRequest) -> [RuleMatch; 2] {
    ["deny = true", "pool = \"q\""].map(|action| {
        let table =
            RuleTable::new(&service(&format!("{{ when = {{ {when} }}, {action} }}"))).unwrap();
        let (found, scanned) = evaluate(&table, request, &TestFacts::default());
        assert_eq!(found, scanned, "{when} {}", request.text);
        found
    })
}

const SURE: [RuleMatch; 2] = [RuleMatch::Rule(0), RuleMatch::Rule(0)];
const UNSURE: [RuleMatch; 2] = [RuleMatch::Rule(0), RuleMatch::AmbiguousRequest(0)];
const NONE: [RuleMatch; 2] = [RuleMatch::DefaultPool, RuleMatch::DefaultPool];
/// The match depends on which of several values of one name a server uses.
const CHOSEN: [RuleMatch; 2] = [RuleMatch::Rule(0), RuleMatch::DefaultPool];

#[test]
fn a_field_in_another_spelling_is_matched_in_both_readings() {
    let debug = "header = \"x-debug: 1\"";
    let not = "not = { header = \"x-debug: 1\" }";
    for (when, fields, want) in [
        (debug, "X-Debug: 1\r\n", SURE),
        (debug, "X-DEBUG: 1\r\nX-Debug: 0\r\n", SURE),
        (debug, "X_Debug: 1\r\n", UNSURE),
        (debug, "x.debug: 1\r\n", UNSURE),
        (debug, "X-Debug: 0\r\nX_Debug: 1\r\n", UNSURE),
        (debug, "X-Debug: 1\r\nX_Debug: 0\r\n", UNSURE),
        (debug, "X-Debug: 1\r\nX_Debug: 1\r\n", SURE),
        (debug, "X-Debug: 0\r\nX_Debug: 0\r\n", NONE),
        (debug, "XaDebug: 1\r\nX_Debugs: 1\r\nX_Trace: 1\r\n", NONE),
        ("header = \"x-debug\"", "X_Debug: 0\r\n", UNSURE),
        ("header = [\"x-a: 1\", \"x-debug\"]", "X-A: 1\r\nX_Debug: 0\r\n", SURE),
        ("header = \"x_debug\"", "X-Debug: 0\r\n", UNSURE),
        ("header = \"x_debug\"", "X_Debug: 0\r\n", SURE),
        (not, "X-Debug: 1\r\n", NONE),
        (not, "X_Debug: 1\r\n", UNSURE),
        (not, "", SURE),
        ("header = \"x-debug: 1\", method = \"POST\"", "X_Debug: 1\r\n", NONE),
        ("any = [{ header = \"x-debug: 1\" }, { method = \"GET\" }]", "X_Debug: 1\r\n", SURE),
    ] {
        assert_eq!(found(when, &get("/", fields)), want, "{when} {fields}");
    }
}

#[test]
fn a_rule_that_refuses_looks_at_the_first_and_the_last_line_of_a_field_alone() {
    let guest = "header = \"x-role: guest\"";
    let not = "not = { header = \"x-role: guest\" }";
    for (when, fields, want) in [
        (guest, "X-Role: guest\r\nX-Role: admin\r\n", SURE),
        (not, "X-Role: guest\r\n", NONE),
        (not, "X-Role: guest\r\nX-Role: guest\r\n", NONE),
        (not, "X-Role: guest\r\nX-Role: admin\r\n", CHOSEN),
        (not, "X-Role: admin\r\nX-Role: guest\r\n", CHOSEN),
        (not, "X-Role: admin\r\n", SURE),
        ("not = { header-regex = \"x-role: g.*\" }", "X-Role: g1\r\nX-Role: a\r\n", CHOSEN),
    ] {
        assert_eq!(found(when, &get("/", fields)), want, "{when} {fields}");
    }
}

#[test]
fn an_element_of_a_list_is_matched_in_every_reading() {
    let a = "header-list = \"x-tag: a\"";
    let not = "not = { header-list = \"x-tag: a\" }";
    for (when, fields, want) in [
        (a, "X-Tag: a\r\n", SURE),
        (a, "X-Tag: b ,\ta\r\n", SURE),
        (a, "X-Tag: b\r\nX-Tag: c,a,\r\n", SURE),
        (a, "X-Tag: ab, a;q=1\r\nX-Other: a\r\n", NONE),
        (a, "X-Tag: A\r\n", NONE),
        (a, "X-Tag: \"a\"\r\n", UNSURE),
        (a, "X-Tag: \"b,a\"\r\n", NONE),
        (a, "X-Tag: \"b, a ,c\"\r\n", UNSURE),
        (a, "X-Tag: \"b, a\r\n", UNSURE),
        (a, "X-Tag: \"\\a\", b\r\n", UNSURE),
        (a, "X_Tag: b,a\r\n", UNSURE),
        (a, "X-Tag: a\r\nX_Tag: b\r\n", UNSURE),
        ("header-list = 'x-tag: \"a\"'", "X-Tag: \"a\", b\r\n", SURE),
        ("header-list = \"x-tag: a;*\"", "X-Tag: b, a;q=\"1,2\"\r\n", SURE),
        ("header-list = \"x-tag\"", "X-Tag: \r\n", SURE),
        ("header-list = [\"x-b: 1\", \"x-tag: a\"]", "X-Tag: b, a\r\n", SURE),
        ("header-list = \"x-tag: A\", value-case = \"ignore\"", "X-Tag: b, a\r\n", SURE),
        (not, "X-Tag: b, a\r\n", NONE),
        (not, "X-Tag: b\r\nX-Tag: a\r\n", NONE),
        (not, "X-Tag: \"a\"\r\n", UNSURE),
        (not, "X-Tag: b, c\r\n", SURE),
        (not, "", SURE),
    ] {
        assert_eq!(found(when, &get("/", fields)), want, "{when} {fields}");
    }
}

#[test]
fn expressions_fit_whole_values_and_whole_hosts() {
    let key = "header-regex = \"x-key: [a-f]{2,}\"";
    let any = "header-regex = \"x-key: .*evil.*\"";
    for (when, fields, want) in [
        (key, "X-Key: abc\r\n", SURE),
        (key, "X-Key: x\r\nX-Key:  ff \r\n", SURE),
        (key, "X-Key: abcx\r\n", NONE),
        (key, "X-Key: ABC\r\n", NONE),
        (key, "X_Key: abc\r\n", UNSURE),
        ("header-regex = \"x-key: (?i)abc\"", "X-Key: ABC\r\n", SURE),
        (any, "X-Key: \u{e9}evil\r\n", SURE),
        ("header-regex = \"x-key: .\"", "X-Key: \u{e9}\r\n", NONE),
        ("header-regex = \"x-key: ..\"", "X-Key: \u{e9}\r\n", SURE),
        ("host-regex = \"SHOP[.]ex.*\"", "", SURE),
        ("host-regex = \"shop\"", "", NONE),
        ("host-part = \"shop\"", "", SURE),
        ("host-part = [\"www\", \"example\"]", "", SURE),
        ("host-part = \"sho\"", "", NONE),
        ("not = { host-part = \"shop\" }", "", NONE),
        ("header = \"x-key: ABC*\", value-case = \"ignore\"", "X-Key: abcd\r\n", SURE),
        ("header = \"x-key: ABC\", value-case = \"ignore\"", "X-Key: aBc\r\n", SURE),
        ("header = \"x-key: ABC\", value-case = \"exact\"", "X-Key: aBc\r\n", NONE),
        ("cookie = \"k=ABC\", value-case = \"ignore\"", "Cookie: k=abc\r\n", SURE),
        ("query = \"k=ABC\", value-case = \"ignore\"", "", NONE),
        ("query = \"q=ABC\", value-case = \"ignore\"", "", SURE),
        (
            "value-case = \"ignore\", header = \"x-key\", not = { header = \"x-key: ABC\" }",
            "X-Key: abc\r\n",
            SURE,
        ),
    ] {
        assert_eq!(found(when, &get("/?q=abc", fields)), want, "{when} {fields}");
    }
}

#[test]
fn a_host_that_is_too_long_to_be_compared_may_be_any() {
    let mut request = get("/", "");
    let labels = "a.".repeat(150);
    request.text = request.text.replacen("shop.example", &format!("{labels}evil.example"), 1);
    for when in ["host-part = \"evil\"", "host-regex = \".*evil.*\"", "not = { host-part = \"b\" }"]
    {
        assert_eq!(found(when, &request), UNSURE, "{when}");
    }
}

#[test]
fn a_path_and_a_field_that_are_unclear_are_refused_by_the_path() {
    let request = get("/admin%2Fx", "X_Debug: 1\r\n");
    let both = "path = \"/admin/*\", header = \"x-debug: 1\"";
    assert_eq!(found(both, &request), [RuleMatch::Rule(0), RuleMatch::AmbiguousPath(Some(0))]);
    let clear = "path = [\"/admin/*\", \"/admin%2F*\"], header = \"x-debug: 1\"";
    assert_eq!(found(clear, &request), UNSURE);
}

#[test]
fn a_cookie_is_matched_in_every_reading() {
    let admin = "cookie = \"role=admin\"";
    let not = "not = { cookie = \"role=admin\" }";
    for (when, cookies, want) in [
        (admin, "a=1; role=admin", SURE),
        (admin, "role=\"admin\"", UNSURE),
        (admin, "role=\"\\141dmin\"", UNSURE),
        (admin, "role=%61dmin", UNSURE),
        (admin, "role=\"%61dmin\"", UNSURE),
        (admin, "%72ole=admin", UNSURE),
        (admin, "a=1,role=admin", UNSURE),
        (admin, "a=1 role=admin", UNSURE),
        (admin, "a=\"; role=admin; \"", UNSURE),
        (admin, "role=\"guest\"; theme=%22dark%22; a=b c", NONE),
        ("cookie = \"role\"", "role=\"admin\"; theme=%22", SURE),
        ("cookie = 'role=\"admin\"'", "role=\"admin\"", UNSURE),
        ("cookie = ['role=\"admin\"', 'role=admin']", "role=\"admin\"", SURE),
        ("cookie = \"role=*admin*\"", "role=\"admin\"", SURE),
        (admin, "role=guest; role=admin", SURE),
        (not, "role=admin", NONE),
        (not, "role=\"admin\"", UNSURE),
        (not, "role=admin; role=guest", CHOSEN),
        (not, "role=guest; role=admin", CHOSEN),
        (not, "role=guest", SURE),
    ] {
        assert_eq!(
            found(when, &get("/", &format!("Cookie: {cookies}\r\n"))),
            want,
            "{when} {cookies}"
        );
    }
}

#[test]
fn a_parameter_is_matched_in_the_usual_readings_and_after_further_decoding() {
    let debug = "query = \"debug=1\"";
    let not = "not = { query = \"debug=1\" }";
    for (when, query, want) in [
        (debug, "a=0&debug=1", SURE),
        (debug, "debug=0&debug=1&debug=2", SURE),
        (debug, "%64ebug=%31;b", SURE),
        (debug, "debug=%2531", UNSURE),
        (debug, "debug=%252531", UNSURE),
        (debug, "%2564ebug=1", UNSURE),
        (debug, "debug=%u0031", UNSURE),
        (debug, "debug[]=1", UNSURE),
        (debug, "debug=0&debug%5B0%5D=1", UNSURE),
        (debug, "debug=10&d.ebug=1&next=%2Fa%3Fx%26debug%3D1", NONE),
        ("query = \"q=a b\"", "q=a+b", SURE),
        ("query = \"q=a+b\"", "q=a%252Bb", UNSURE),
        ("query = \"user_id=7\"", "user.id=7", UNSURE),
        ("query = \"debug\"", "debug=%2531", SURE),
        (not, "debug=1", NONE),
        (not, "debug=%31&a", NONE),
        (not, "debug=1&debug=1", NONE),
        (not, "debug=%2531", UNSURE),
        (not, "debug=1&debug=0", CHOSEN),
        (not, "debug=0&debug=1", CHOSEN),
        (not, "debug=1;debug=0", CHOSEN),
        (not, "debug=0", SURE),
        (not, "", SURE),
    ] {
        assert_eq!(found(when, &get(&format!("/?{query}"), "")), want, "{when} {query}");
    }
}

#[test]
fn a_method_in_another_case_is_matched_in_both_readings() {
    for (method, want) in [("PURGE", SURE), ("purge", UNSURE), ("Purge", UNSURE), ("GET", NONE)] {
        let mut request = get("/", "");
        request.text = request.text.replacen("GET", method, 1);
        assert_eq!(found("method = [\"BAN\", \"PURGE\"]", &request), want, "{method}");
    }
}
