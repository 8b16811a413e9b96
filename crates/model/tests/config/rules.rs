//! Rules and sticky sessions: the meaning of valid files, each kind of mistake as a row, and files that would need too
//! much memory.

use std::time::Duration;

use model::config::{
    AffinityKey, CookieMode, NoServersAction, RateLimitKey, RuleActionConfig,
    UnavailableServerAction, WeightedPool,
};

use super::support::{BASE, errors, findings, good};

fn with(more: &str) -> String {
    BASE.replace("pool = \"web\"\n", &format!("pool = \"web\"\n{more}\n"))
}

fn rule(rule: &str) -> String {
    with(&format!("rule = [{{ {rule} }}]"))
}

#[test]
fn what_is_written_arrives() {
    let text = with(
        "sticky = { by = \"cookie\", name = \"SRV\", expire = \"1h\", when-down = \"refuse\", when-full = \"spill\", drain = \"5m\" }\n\
         rule = [{ name = \"a\", when = { path = \"/a/*\" }, split = [{ pool = \"web\", weight = 3 }], when-unavailable = \"next\" },\n\
         { when = { not = { any = [{ host = \"*.b\" }, { query = \"q\" }] } }, deny = true }]",
    );
    let checked = good(&text);
    assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
    let shop = &checked.config.services["shop"];
    assert_eq!(shop.rules.len(), 2);
    let split = vec![WeightedPool { pool: "web".into(), weight: 3 }];
    assert_eq!(shop.rules[0].action, RuleActionConfig::Split(split));
    assert_eq!(shop.rules[0].without_servers, NoServersAction::Next);
    let sticky = shop.sticky.as_ref().unwrap();
    let AffinityKey::Cookie(cookie) = &sticky.by else { panic!("{sticky:?}") };
    assert_eq!((cookie.mode, cookie.secure, cookie.http_only), (CookieMode::Insert, false, true));
    assert_eq!(
        (sticky.when_down, sticky.spill, sticky.drain),
        (UnavailableServerAction::Refuse, true, Duration::from_secs(300))
    );
    assert!(!sticky.needs_table());
    let short = good(&with("sticky = \"10m\"")).config;
    let sticky = short.services["shop"].sticky.clone().unwrap();
    assert_eq!((sticky.by.clone(), sticky.needs_table()), (AffinityKey::Address(32, 128), true));
}

fn beside_http2(more: &str) -> String {
    rule(more) + "\n[pool.modern]\nhttp2 = \"only\"\nservers = [\"10.0.0.9:80\"]\n"
}

/// The function that writes the row, the row, the key path, the message.
type RuleMistakeRow = (fn(&str) -> String, &'static str, &'static str, &'static str);

const ROWS: &[RuleMistakeRow] = &[
    (rule, "pool = \"wed\"", "service.shop.rule[0].pool", "there is no pool"),
    (rule, "mirror = \"wed\"", "service.shop.rule[0].mirror.pool", "there is no pool"),
    (rule, "split = [{ pool = \"x\" }]", "service.shop.rule[0].split[0].pool", "there is no pool"),
    (rule, "split = [{ pool = \"web\", weight = 0 }]", "service.shop.rule[0].split", "weight 0"),
    (rule, "split = [{ weight = 1 }]", "service.shop.rule[0].split[0].pool", "needs `pool`"),
    (
        rule,
        "when = { servers = { of = \"x\", up = \"1-\" } }",
        "service.shop.rule[0].when.servers.of",
        "there is no pool",
    ),
    (rule, "when = { servers = {} }", "service.shop.rule[0].when.servers", "one of its numbers"),
    (rule, "pool = \"web\", deny = true", "service.shop.rule[0].deny", "exclude each other"),
    (rule, "deny = false", "service.shop.rule[0].deny", "says nothing"),
    (beside_http2, "mirror = \"modern\"", "service.shop.rule[0].mirror.pool", "HTTP/1.1"),
    (rule, "deny = true, mirror = \"web\"", "service.shop.rule[0].mirror", "choose a pool"),
    (
        rule,
        "answer = 404, when-unavailable = \"next\"",
        "service.shop.rule[0].when-unavailable",
        "choose a pool",
    ),
    (
        rule,
        "redirect = { to = \"/a\", status = 305 }",
        "service.shop.rule[0].redirect.status",
        "elsewhere",
    ),
    (rule, "redirect = \"a\"", "service.shop.rule[0].redirect.to", "leads nowhere"),
    (rule, "redirect = \"/{1}\"", "service.shop.rule[0].redirect.to", "path-regex"),
    (rule, "redirect = \"/{one}\"", "service.shop.rule[0].redirect", "not a text that fits"),
    (
        rule,
        "rewrite = { path = \"https://x/\" }",
        "service.shop.rule[0].rewrite.path",
        "leads nowhere",
    ),
    (
        rule,
        "rewrite = { path = \"/a\", strip = \"/b\" }",
        "service.shop.rule[0].rewrite.strip",
        "exclude each other",
    ),
    (
        rule,
        "rewrite = { set = \"content-length: 7\" }",
        "service.shop.rule[0].rewrite.set",
        "written by us",
    ),
    (
        rule,
        "rewrite = { remove = \"transfer-encoding\" }",
        "service.shop.rule[0].rewrite.remove",
        "fits here",
    ),
    (
        rule,
        "limit = { rate = 1, by = \"header\", header = \"x\", mask6 = 48 }",
        "service.shop.rule[0].limit.mask6",
        "belongs to `by = \"address\"`",
    ),
    (rule, "limit = { rate = 1, mask4 = 24 }", "service.shop.rule[0].limit.mask4", "address"),
    (
        rule,
        "limit = { rate = 1, by = \"header\" }",
        "service.shop.rule[0].limit.by",
        "belong together",
    ),
    (
        rule,
        "limit = { rate = 1, header = \"x\" }",
        "service.shop.rule[0].limit.header",
        "belong together",
    ),
    (rule, "when = { path = \"a\" }", "service.shop.rule[0].when.path", "fits here"),
    (rule, "when = { host = \"a:80\" }", "service.shop.rule[0].when.host", "fits here"),
    (
        rule,
        "when = { path-regex = \"(a{1000}){1000}\" }",
        "service.shop.rule[0].when.path-regex",
        "too large",
    ),
    (rule, "when = { path-regex = \"(\" }", "service.shop.rule[0].when.path-regex", "unclosed"),
    (rule, "when = { active = \"9-7\" }", "service.shop.rule[0].when.active", "fits here"),
    (rule, "when = { scope = \"pool\" }", "service.shop.rule[0].when.scope", "`active`"),
    (
        rule,
        "when = { any = [{ rate = 1 }] }",
        "service.shop.rule[0].when.any[0].rate",
        "stands alone",
    ),
    (rule, "when = { sni = \"a.b\" }", "service.shop.rule[0].when.sni", "does not speak TLS"),
    (rule, "when = { tos = 8 }", "service.shop.rule[0].when.tos", "packet forwarding"),
    (
        with,
        "rule = [{ name = \"a\" }, { name = \"a\", when = { path = \"/\" } }]",
        "service.shop.rule[1].name",
        "are named",
    ),
    (tcp_rule, "when = { path = \"/a\" }", "service.shop.rule[0].when.path", "forwards bytes"),
    (
        tcp_rule,
        "when = { not = { path = \"/a\" } }",
        "service.shop.rule[0].when.not.path",
        "forwards bytes",
    ),
    (tcp_rule, "redirect = \"/a\"", "service.shop.rule[0].redirect", "forwards bytes"),
    (with, "sticky = { by = \"cookie\" }", "service.shop.sticky.by", "needs its `name`"),
    (with, "sticky = { by = \"header\", name = \"x\" }", "service.shop.sticky.expire", "must end"),
    (
        with,
        "sticky = { by = \"tls-session\", expire = \"1h\" }",
        "service.shop.sticky.by",
        "does not speak TLS",
    ),
    (with, "sticky = { expire = \"1h\", name = \"x\" }", "service.shop.sticky.name", "has no name"),
    (with, "sticky = { expire = \"1h\", secure = true }", "service.shop.sticky.secure", "insert"),
    (
        with,
        "sticky = { by = \"path\", mask4 = 8, expire = \"1h\" }",
        "service.shop.sticky.mask4",
        "address",
    ),
    (
        with,
        "sticky = { by = \"cookie\", name = \"x\", entries = 100 }",
        "service.shop.sticky.entries",
        "remembered",
    ),
    (
        tcp,
        "sticky = { by = \"query\", name = \"x\", expire = \"1h\" }",
        "service.shop.sticky.by",
        "bytes show no query",
    ),
];

fn tcp(more: &str) -> String {
    with(more).replace("http", "tcp")
}

fn tcp_rule(text: &str) -> String {
    rule(text).replace("http", "tcp")
}

fn is_named(text: &str, key: &str, says: &str) {
    let found = errors(text);
    let one = found.iter().find(|finding| finding.key == key);
    let one = one.unwrap_or_else(|| panic!("{key} in {found:#?}\n{text}"));
    let whole = format!("{} {}", one.message, one.expected.clone().unwrap_or_default());
    assert!(whole.contains(says), "{key}: {whole}");
}

#[test]
fn mistakes_are_named_where_they_stand() {
    for (make, text, key, says) in ROWS {
        is_named(&make(text), key, says);
    }
    let deep = "not = { ".repeat(10) + "method = \"GET\"" + &" }".repeat(10);
    let path = format!("service.shop.rule[0].when{}", ".not".repeat(9));
    is_named(&rule(&format!("when = {{ {deep} }}")), &path, "deep");
}

#[test]
fn unreachable_rules_are_reported() {
    let found =
        findings(&with("rule = [{ pool = \"web\" }, { when = { path = \"/a\" }, deny = true }]"));
    assert_eq!((found.len(), found[0].key.as_str()), (1, "service.shop.rule[1]"));
    assert!(found[0].message.contains("never reached"), "{found:?}");
}

#[test]
fn too_many_expressions_are_refused_and_thousands_of_plain_rules_are_not() {
    let many = |count: usize, when: fn(usize) -> String| {
        let rules: Vec<String> =
            (0..count).map(|n| format!("{{ when = {{ {} }}, pool = \"web\" }}", when(n))).collect();
        with(&format!("rule = [{}]", rules.join(",\n")))
    };
    let globs = errors(&many(1_001, |n| format!("path = \"/*/{n}\"")));
    assert!(globs[0].message.contains("1001 expressions"), "{globs:?}");
    let plain = good(&many(3_000, |n| format!("path = \"/p{n}/*\"")));
    assert_eq!(plain.config.services["shop"].rules.len(), 3_000);
}

#[test]
fn a_limit_by_address_counts_networks_of_ipv6() {
    for (limit, by) in [
        ("", RateLimitKey::Address(32, 64)),
        (", mask4 = 24, mask6 = 128", RateLimitKey::Address(24, 128)),
    ] {
        let text = format!("limit = {{ rate = 1, by = \"address\"{limit} }}, deny = true");
        let config = good(&rule(&text)).config;
        let found = config.services["shop"].rules[0].limit.clone().unwrap();
        assert_eq!(found.by, by);
    }
}

#[test]
fn cookies_of_members_that_share_no_secret_are_warned_of() {
    let group = "[vrrp.front]\ninterface = \"eth0\"\nid = 51\naddresses = \"192.0.2.10\"\n";
    let cookie = "sticky = { by = \"cookie\", name = \"SRV\" }";
    let learned =
        "sticky = { by = \"cookie\", name = \"SRV\", cookie = \"learn\", expire = \"1h\" }";
    let secret = "[global]\nsticky-secret-file = \"/etc/steelyard/sticky.secret\"\n";
    for (text, warned) in [
        (format!("{}\n{group}", with(cookie)), true),
        (format!("{}\n{group}", with(&cookie.replace("}", ", cookie = \"rewrite\" }"))), true),
        (with(cookie), false),
        (format!("{}\n{group}", with(learned)), false),
        (format!("{}\n{group}", with("sticky = \"10m\"")), false),
        (format!("{secret}{}\n{group}", with(cookie)), false),
    ] {
        let found = good(&text).warnings;
        let one = found.iter().find(|one| one.key == "service.shop.sticky.cookie");
        assert_eq!(one.is_some(), warned, "{text}\n{found:?}");
        if let Some(one) = one {
            let expected = one.expected.clone().unwrap_or_default();
            assert!(expected.contains("sticky-secret-file"), "{expected}");
        }
    }
}
