//! Rules with ambiguous paths, and values in several spellings.

use model::config::load;
use model::request_head::ParsedHead;
use model::rules::{RuleContext, RuleMatch, RuleTable};

use super::{TestFacts, evaluate, fits, get, service};

#[test]
fn values_are_found_in_every_spelling_and_a_star_can_be_meant() {
    for (when, yes, no) in [
        ("query = \"q=a b\"", get("/?q=a+b", ""), Some(get("/?q=a", ""))),
        ("query = \"q=a b\"", get("/?%71=a%20b", ""), Some(get("/?q=ab", ""))),
        ("query = \"q=a+b\"", get("/?q=a+b", ""), Some(get("/?q=a%252Bb", ""))),
        ("query = 'q=\\*'", get("/?q=*", ""), Some(get("/?q=a", ""))),
        ("query = 'q=\\*'", get("/?q=%2A", ""), Some(get("/?q=**", ""))),
        (
            "header = 'accept: \\*/\\*'",
            get("/", "Accept: */*\r\n"),
            Some(get("/", "Accept: a/b\r\n")),
        ),
        (
            "cookie = 'id=\\?\\\\*'",
            get("/", "Cookie: id=?\\x\r\n"),
            Some(get("/", "Cookie: id=a\\x\r\n")),
        ),
    ] {
        assert!(fits(when, &yes, &TestFacts::default()), "{when} {}", yes.text);
        if let Some(no) = no {
            assert!(!fits(when, &no, &TestFacts::default()), "{when} {}", no.text);
        }
    }
}

/// The match of a rule with this condition and action.
fn found(rule: &str, target: &str) -> RuleMatch {
    let table = RuleTable::new(&service(&format!("{{ {rule} }}"))).unwrap();
    let (found, scanned) = evaluate(&table, &get(target, ""), &TestFacts::default());
    assert_eq!(found, scanned, "{rule} {target}");
    found
}

#[test]
fn a_deny_fires_for_one_reading_and_everything_else_only_for_all() {
    let fires = RuleMatch::Rule(0);
    let other = RuleMatch::DefaultPool;
    let refused = RuleMatch::AmbiguousPath(Some(0));
    let admin = "path = \"/admin/*\"";
    for (when, target, deny, rest) in [
        (admin, "/admin/x", fires, fires),
        (admin, "/admin/x%2Fy;z", fires, fires),
        (admin, "/admin%2Fx", fires, refused),
        (admin, "/public/..%2fadmin/x", fires, refused),
        (admin, "/a/..;/admin/x", fires, refused),
        (admin, "/x/../%61dmin//y", fires, refused),
        (admin, "/administrator//x;y", other, other),
        ("not = { path = \"/public/*\" }", "/public/a;b//c", other, other),
        ("not = { path = \"/public/*\" }", "/public/..%2fadmin", fires, refused),
        ("not = { not = { path = \"/public/*\" } }", "/public/..%2fadmin", fires, refused),
        ("path-regex = \"/(a|b)/[^/]+\"", "/a/x%2Fy", fires, refused),
        ("path-regex = \"/(a|b)/.+\"", "/a/x%2Fy", fires, fires),
        ("any = [{ path = \"/a/b\" }, { path = \"/a%2Fb\" }]", "/a%2Fb", fires, fires),
        ("all = [{ path = \"/a/b\" }, { path = \"/a%2Fb\" }]", "/a%2Fb", other, other),
        ("path = \"/admin/*\", method = \"POST\"", "/admin%2Fx", other, other),
        ("path = \"/a%2Fb\"", "/a%2Fb", fires, refused),
        ("query = \"x\"", "/a%2F..;//b?x", fires, fires),
        ("path = \"/a\"", "/b?/../a%2F", other, other),
    ] {
        assert_eq!(
            found(&format!("when = {{ {when} }}, deny = true"), target),
            deny,
            "{when} {target}"
        );
        let answered = found(&format!("when = {{ {when} }}, answer = 403"), target);
        assert_eq!(answered, deny, "{when} answer {target}");
        for action in [
            "pool = \"q\"",
            "split = [{ pool = \"q\" }, { pool = \"r\" }]",
            "redirect = \"/elsewhere\"",
            "answer = 200",
            "pool = \"q\", limit = 5",
            "pool = \"q\", mirror = \"r\"",
            "pool = \"q\", rewrite = { strip = \"/admin\" }",
        ] {
            let came = found(&format!("when = {{ {when} }}, {action}"), target);
            assert_eq!(came, rest, "{when} {action} {target}");
        }
    }
    // Rules without a path condition match paths with too many readings.
    let endless = "/%2525252561";
    assert_eq!(found("when = { method = \"GET\" }, pool = \"q\"", endless), fires);
    assert_eq!(
        found("when = { path = \"/a\" }, pool = \"q\"", endless),
        RuleMatch::AmbiguousPath(None)
    );
}

#[test]
fn all_readings_meet_the_same_state_and_take_one() {
    let table =
        RuleTable::new(&service("{ when = { path = \"/a/*\", rate = 9 }, pool = \"q\" }")).unwrap();
    for (target, left, want) in [
        ("/a/x%2Fy;z", 3, (RuleMatch::Rule(0), 2)),
        ("/a/x%2Fy;z", 0, (RuleMatch::DefaultPool, 0)),
        ("/b/x%2Fy;z", 3, (RuleMatch::DefaultPool, 3)),
    ] {
        let request = get(target, "");
        let head = ParsedHead::new(request.text.as_bytes(), 3, 4..4 + target.len());
        let world = TestFacts { remaining: left.into(), ..TestFacts::default() };
        let view = RuleContext {
            client: request.client,
            sni: None,
            tos: None,
            head: Some(&head),
            unix_seconds: 0,
        };
        assert_eq!((table.find_rule(&view, &world), *world.remaining.borrow()), want, "{target}");
    }
}

#[test]
fn settings_of_paths_are_those_of_the_service() {
    let service = |setting: &str, rules: &str| {
        let text = format!(
            "[service.s]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"p\"\n{setting}\nrule = [{rules}]\n\
             [pool.p]\nservers = [\"10.0.0.1:80\"]\n"
        );
        load(&text, "paths.toml").unwrap_or_else(|found| panic!("{found}")).config.services["s"]
            .clone()
    };
    let rules = "{ when = { path = [\"/Admin/*\", \"/*/X%2f?\"] }, deny = true }, \
                 { when = { path-regex = \"/[a-c]\" }, pool = \"p\" }";
    for (setting, target, want) in [
        ("", "/admin/x", RuleMatch::DefaultPool),
        ("path-case = \"ignore\"", "/aDMIN/x", RuleMatch::Rule(0)),
        ("path-case = \"ignore\"", "/public/..%2fADMIN/x", RuleMatch::Rule(0)),
        ("path-case = \"ignore\"", "/y/x%2Fz", RuleMatch::Rule(0)),
        ("path-case = \"ignore\"", "/B", RuleMatch::Rule(1)),
        ("path-case = \"exact\"", "/B", RuleMatch::DefaultPool),
        ("path-normalization = \"raw\"", "/Admin%2Fx", RuleMatch::DefaultPool),
        ("path-normalization = \"raw\"", "/Admin/../x", RuleMatch::Rule(0)),
        ("path-normalization = \"normal-form\"", "/Admin%2Fx", RuleMatch::Rule(0)),
    ] {
        let table = RuleTable::new(&service(setting, rules)).unwrap();
        let (found, scanned) = evaluate(&table, &get(target, ""), &TestFacts::default());
        assert_eq!((found, scanned), (want, want), "{setting} {target}");
    }
}
