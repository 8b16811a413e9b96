//! A file with ten different mistakes lists ten, each with its place.

use model::config::{ConfigFindings, load};

const TEN: &str = r#"[global]
drain = 30

[service.shop]
listen = "127.0.0.1:80"
forward = "htp"
pool = "wed"
balance = "random"
timeout = { heder = "5s" }

[service.Blog]
listen = "127.0.0.1:80"
forward = "http"
pool = "web"

[pool.web]
probe = { http = "/", interval = "1s", timeout = "2s" }
servers = [
  { name = "a", address = "10.0.0.1:80" },
  { name = "a", address = "10.0.0.2:80", weight = 300 },
]
"#;

#[test]
fn ten_mistakes_are_ten_findings_with_their_places() {
    let findings = load(TEN, "ten.toml").unwrap_err();
    let found: Vec<_> = findings
        .errors()
        .map(|f| (f.line, f.column, f.key.as_str(), f.suggestion.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        found,
        [
            (2, 9, "global.drain", "\"30s\""),
            (6, 11, "service.shop.forward", "\"http\""),
            (7, 8, "service.shop.pool", "\"web\""),
            (8, 1, "service.shop.balance", ""),
            (9, 13, "service.shop.timeout.heder", "header"),
            (11, 10, "service.Blog", "blog"),
            (12, 10, "service.Blog.listen", ""),
            (17, 50, "pool.web.probe.timeout", ""),
            (20, 12, "pool.web.servers[1].name", ""),
            (20, 51, "pool.web.servers[1].weight", ""),
        ]
    );
}

#[test]
fn a_finding_reads_well() {
    let findings = load("[global]\nworkers = 0\n", "w.toml").unwrap_err();
    let expected = "\
error: w.toml:2:11: global.workers: too small
   2 | workers = 0
     |           ^
     = found 0, expected a whole number, 1 to 1024, or \"auto\"
";
    let text = findings.to_string();
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn findings_are_the_same_as_json() {
    let findings = load(TEN, "ten.toml").unwrap_err();
    let text = serde_json::to_string(&findings).unwrap();
    assert_eq!(serde_json::from_str::<ConfigFindings>(&text).unwrap(), findings);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let drain = value["findings"].as_array().unwrap().iter().find(|f| f["key"] == "global.drain");
    let drain = drain.unwrap();
    assert_eq!(drain["severity"], "error");
    assert_eq!(drain["file"], "ten.toml");
    assert_eq!((drain["line"].as_u64(), drain["column"].as_u64()), (Some(2), Some(9)));
    assert_eq!(drain["found"], "30");
    assert_eq!(drain["expected"], "a time with its unit, \"0s\" to \"1d\"");
    assert_eq!(drain["suggestion"], "\"30s\"");
}

#[test]
fn syntax_errors_have_places_and_the_rest_is_still_read() {
    let text = "\
[global]
workers = = 2
drain = 30

[service.shop]
listen = \"127.0.0.1:80\"
forward = \"htp\"
pool = \"web\"

[pool.web]
servers = [\"10.0.0.1:80\"
[pool.other]
retries = 99
";
    let findings = load(text, "s.toml").unwrap_err();
    let found: Vec<_> = findings.errors().map(|f| (f.line, f.key.as_str())).collect();
    // After line 2 findings are unreliable until the next table; the list of line 11 is never closed.
    assert_eq!(found, [(2, ""), (7, "service.shop.forward"), (12, "")], "{findings}");
    let twice = load("[global]\nworkers = 1\nworkers = 2\n", "s.toml").unwrap_err();
    assert_eq!(twice.errors().map(|f| f.line).collect::<Vec<_>>(), [3], "{twice}");
}
