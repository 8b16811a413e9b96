//! The handling of ambiguous paths under each setting, rewrites by rules, and the targets of redirects.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;

use super::origins::PathOrigin;

/// A balancer in front of Node, whose responses contain the received target.
fn start(node: &PathOrigin, settings: &str, rules: &str) -> TestBalancer {
    let rules = format!("{settings}rule = [{rules}]\n");
    TestBalancer::start(
        &BalancerConfig::http(&[node.address()]).global("workers = 1\n").service(&rules),
    )
}

/// The status, and the received target or the cause.
fn get(balancer: &TestBalancer, target: &str) -> (u16, String) {
    let answer = balancer.client().get(target);
    let said = answer.field("x-target").or_else(|| answer.field("x-steelyard-cause"));
    (answer.status(), said.unwrap_or_default())
}

fn ambiguous() -> (u16, String) {
    (400, "ambiguous-path".to_owned())
}

fn came(target: &str) -> (u16, String) {
    (200, target.to_owned())
}

#[test]
fn an_ambiguous_path_is_refused_by_name_counted_logged_and_explained() {
    let node = PathOrigin::node();
    let balancer =
        start(&node, "", "{ name = \"api\", when = { path = \"/api/*\" }, pool = \"web\" }");
    let mut client = balancer.client();
    let refused = client.get("/api/..%2fadmin");
    assert_eq!(refused.status(), 400);
    assert_eq!(refused.field("x-steelyard-cause").as_deref(), Some("ambiguous-path"));
    // The connection stays open, and ordinary paths are forwarded unchanged.
    for target in ["/api/a%2fb;v=1//c?x=%2F..", "/other//x"] {
        assert_eq!(client.get(target).field("x-target").as_deref(), Some(target));
    }
    let line = balancer.wait_for_log_line("the refusal", |line| line["cause"] == "ambiguous-path");
    assert_eq!((&line["status"], &line["target"]), (&400.into(), &"/api/..%2fadmin".into()));
    let metrics = balancer.metrics();
    let counted = metrics.lines().any(|line| {
        line.starts_with("steelyard_service_causes_total{")
            && line.contains("cause=\"ambiguous-path\"")
            && line.ends_with(" 1")
    });
    assert!(counted, "{metrics}");
    let mut explain = std::process::Command::new(tests::e2e::balancer::program());
    explain.args([
        "explain",
        "request",
        "--service",
        "shop",
        "--url",
        "/api/..%2fadmin",
        "--socket",
    ]);
    let told = explain.arg(balancer.dir().join("sock")).output().unwrap();
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    for part in ["or       /admin\n", "refused: 400, `ambiguous-path`: rule api fits some readings"]
    {
        assert!(told.contains(part), "{told}");
    }
}

#[test]
fn each_setting_does_what_it_says() {
    let node = PathOrigin::node();
    let rules = "{ when = { path = \"/admin/*\" }, deny = true }, \
                 { when = { path = \"/api/*\" }, pool = \"web\" }";
    let denied = || (403, "rule-denied".to_owned());
    let settings = [
        (
            "refuse",
            vec![
                ("/api/a%2Fb", ambiguous()),
                ("//cdn/x", ambiguous()),
                ("/a;b", ambiguous()),
                ("/%7Eu/caf%c3%a9", came("/%7Eu/caf%c3%a9")),
                ("/admin%2Fx", ambiguous()),
                ("/%61dmin/x", denied()),
            ],
        ),
        (
            "normal-form",
            vec![
                ("/api/a%2fb;c?x=%7e", came("/api/a%2Fb;c?x=%7e")),
                ("/x/..//%61pi/./y", came("/api/y")),
                ("/api/..%2fadmin/x", denied()),
                ("/api/..%2fx", ambiguous()),
                ("/api/a\\b", came("/api/a%5Cb")),
            ],
        ),
        (
            "raw",
            vec![
                ("/admin%2Fx", came("/admin%2Fx")),
                ("/admin/../x", denied()),
                ("/api/..%2fx", came("/api/..%2fx")),
            ],
        ),
    ];
    for (setting, rows) in settings {
        let balancer = start(&node, &format!("path-normalization = \"{setting}\"\n"), rules);
        for (target, want) in rows {
            assert_eq!(get(&balancer, target), want, "{setting} {target}");
        }
    }
    // The setting also applies without rules.
    for (setting, want) in
        [("refuse", ambiguous()), ("normal-form", came("/b")), ("all-readings", came("/a/../b"))]
    {
        let balancer = start(&node, &format!("path-normalization = \"{setting}\"\n"), "");
        assert_eq!(get(&balancer, "/a/../b"), want, "{setting}");
    }
    let balancer = start(&node, "path-case = \"ignore\"\n", rules);
    assert_eq!(get(&balancer, "/ADMIN/x"), denied());
    assert_eq!(get(&balancer, "/Api/x%2Fy"), came("/Api/x%2Fy"));
}

#[test]
fn what_a_rule_writes_leads_nowhere_else() {
    let node = PathOrigin::node();
    let balancer = start(
        &node,
        "",
        "{ when = { path = \"/api/*\" }, rewrite = { strip = \"/api\" } }, \
         { when = { path = \"/u-*\" }, rewrite = { path = \"/users/{rest}\" } }, \
         { when = { path-regex = \"/files/(.*)\" }, rewrite = { path = \"/store/{1}\" } }",
    );
    for (target, want) in [
        ("/api/a%2Fb;v=1//c?q", came("/a%2Fb;v=1//c?q")),
        ("/%61pi/~x%20y", came("/~x%20y")),
        ("/api/b/../c", came("/c")),
        ("/api//h/c", came("/h/c")),
        ("/api/..%2fapi/c", ambiguous()),
        ("/api/\\h/c", ambiguous()),
        ("/u-x/y", came("/users/x/y")),
        ("/u-..", ambiguous()),
        ("/u-../admin/x", ambiguous()),
        ("/files/a%2Fb", came("/store/a%2Fb")),
        ("/files/..%2ffiles/x", ambiguous()),
    ] {
        assert_eq!(get(&balancer, target), want, "{target}");
    }
}

#[test]
fn a_redirect_leads_to_no_host_of_the_client() {
    let node = PathOrigin::node();
    let balancer = start(
        &node,
        "",
        "{ when = { path = \"/old/*\" }, redirect = \"/{rest}\" }, \
         { when = { path = \"/moved/*\" }, redirect = \"https://{host}/new/{rest}{query}\" }, \
         { when = { path = \"/away*\" }, redirect = \"https://other.example{rest}\" }, \
         { when = { path-regex = \"/(.*)\" }, redirect = \"/{1}\" }",
    );
    for (target, want) in [
        ("/old/a/b", "/a/b"),
        ("/old/\\evil.example", "/%5Cevil.example"),
        ("/old/%5cevil.example/x", "/%5cevil.example/x"),
        ("/old//evil.example", "/evil.example"),
        ("/old/\"<a>|{b}", "/%22%3Ca%3E%7C%7Bb%7D"),
        ("/old/", "/"),
        ("/moved/?x=1", "https://shop.example/new?x=1"),
        ("/moved/a?x=\"", "https://shop.example/new/a?x=%22"),
        ("/away.evil.example", "https://other.example/.evil.example"),
        ("/away/x", "https://other.example/x"),
        ("//evil.example/x", "/evil.example/x"),
        ("/\\evil.example/x", "/%5Cevil.example/x"),
    ] {
        let answer = balancer.client().get(target);
        assert_eq!(answer.field("location").as_deref(), Some(want), "{target}");
    }
}
