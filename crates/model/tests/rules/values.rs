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
