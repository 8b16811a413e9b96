//! Own pages for errors: of the balancer's answers and in the place of servers', over HTTP/1 and HTTP/2, and with files
//! that change.

use std::process::Command;

use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::run_command;
use tests::e2e::dir::TestDir;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::reserve_port;
use tests::e2e::wait;

const PAGE: &str = "<h1>We are back soon</h1>";

/// A server that answers with a status, which is the path, and keeps its connections.
fn server_of_statuses() -> ScriptedServer {
    ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            let line = request.start.clone();
            let status: u16 = line.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
            let _ = reader.body(&mut request, ExpectedBody::AsDeclared);
            let body = if line.starts_with("HEAD") { "" } else { "inner" };
            let answer = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: 5\r\nX-Inner: yes\r\n\
                 WWW-Authenticate: Basic realm=\"a\"\r\nRetry-After: 7\r\n\r\n{body}"
            );
            if std::io::Write::write_all(&mut &stream, answer.as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn a_page_answers_when_no_server_does() {
    let nobody = reserve_port();
    let dir = TestDir::new();
    let large = format!("{PAGE}{}", "x".repeat(64 * 1024 - PAGE.len()));
    let file = dir.write("50x.html", &large);
    let pages = format!(
        "http2 = \"always\"\nerror-page = [{{ status = [\"502-504\"], file = {file:?}, headers = [\"X-Own: page\"] }}]\n"
    );
    let setup = BalancerConfig::http(&[nobody.address()]).service(&pages);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..2 {
        let answer = client.get("/");
        assert!((502..=504).contains(&answer.status()), "{answer:?}");
        assert_eq!(answer.text(), large, "on a connection that stays");
        assert_eq!(answer.field("content-type").as_deref(), Some("text/html"));
        assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
        assert_eq!(answer.field("x-own").as_deref(), Some("page"));
        assert!(answer.field("x-steelyard-cause").is_some_and(|cause| !cause.is_empty()));
    }
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_answer_head();
    assert_eq!(head.field("content-length"), Some(large.len().to_string()));
    assert!((502..=504).contains(&client.get("/").status()), "no body came after HEAD");

    let asked = [H2Request::get("/"), H2Request { method: "HEAD", ..H2Request::get("/") }];
    let answers = send_all(balancer.front(), &asked);
    assert!((502..=504).contains(&answers[0].status), "{:?}", answers[0].error);
    assert_eq!(answers[0].body, large.as_bytes());
    assert_eq!(answers[1].field("content-length"), Some(large.len().to_string()));
    assert!(answers[1].body.is_empty() && answers[1].error.is_none());
    let line = balancer.wait_for_log_line("a failure", |line| line["cause"].is_string());
    assert!(line["status"].as_u64().is_some_and(|status| (502..=504).contains(&status)), "{line}");
}

#[test]
fn refusals_and_answers_without_a_body_have_pages_and_others_their_own() {
    let server = server_of_statuses();
    let dir = TestDir::new();
    let file = dir
        .write("own.http", "HTTP/1.0 403 No\nCache-Control: max-age=5\nConnection: close\n\nraw");
    let pages = format!(
        "error-page = [{{ status = 403, file = {file:?}, format = \"http\" }},\n\
         {{ status = [429, 404], body = \"text\", type = \"text/plain\", as = 200 }},\n\
         {{ status = 503, as = 302, headers = [\"Location: /sorry\"] }},\n\
         {{ status = \"400-499\", body = \"other\" }}]\n\
         rule = [{{ when = {{ path = \"/deny\" }}, deny = true }},\n\
         {{ when = {{ path = \"/404\" }}, answer = 404 }},\n\
         {{ when = {{ path = \"/own\" }}, answer = {{ status = 404, body = \"mine\" }} }},\n\
         {{ when = {{ path = \"/away\" }}, answer = 503 }}]\n"
    );
    let setup = BalancerConfig::http(&[server.address()]).service(&pages);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    let denied = client.get("/deny");
    assert_eq!((denied.status(), denied.text().as_str()), (403, "raw"));
    assert_eq!(denied.field("cache-control").as_deref(), Some("max-age=5"));
    assert_eq!(denied.field("x-steelyard-cause").as_deref(), Some("rule-denied"));
    let line = balancer.wait_for_log_line("the refusal", |line| line["target"] == "/deny");
    assert_eq!((&line["cause"], &line["status"]), (&"rule-denied".into(), &403.into()), "{line}");
    for (path, status, text) in
        [("/404", 200, "text"), ("/own", 404, "mine"), ("/404", 200, "text")]
    {
        let answer = client.get(path);
        assert_eq!((answer.status(), answer.text().as_str()), (status, text), "{path}");
    }
    let away = client.get("/away");
    assert_eq!((away.status(), away.field("location").as_deref()), (302, Some("/sorry")));
    let passed = client.get("/410");
    assert_eq!(passed.status(), 410, "a server's own answer stays");
    client.send("GET / HTTP/1.1\r\nHost : bad\r\n\r\n");
    let malformed = client.read_answer();
    assert_eq!((malformed.status(), malformed.text().as_str()), (400, "other"));
}

#[test]
fn a_servers_answer_is_replaced_where_the_page_says_so() {
    let server = server_of_statuses();
    let dir = TestDir::new();
    let file = dir.write("page.html", PAGE);
    let pages = format!(
        "http2 = \"always\"\nerror-page = [{{ status = \"500-503\", file = {file:?}, intercept = true, as = 200 }},\n\
         {{ status = 401, file = {file:?}, intercept = true }}, {{ status = 404, file = {file:?} }}]\n"
    );
    let setup = BalancerConfig::http(&[server.address()]).global("workers = 1").service(&pages);
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for (path, status, inner) in
        [("/503", 200, false), ("/401", 401, false), ("/404", 404, true), ("/500", 200, false)]
    {
        let answer = client.get(path);
        let text = if inner { "inner" } else { PAGE };
        assert_eq!((answer.status(), answer.text().as_str()), (status, text), "{path}");
        assert_eq!(answer.field("x-inner").is_some(), inner, "{path}");
        assert_eq!(answer.field("www-authenticate").as_deref(), Some("Basic realm=\"a\""));
        assert_eq!(answer.field("retry-after").as_deref(), Some("7"));
    }
    assert_eq!(server.accepted(), 1, "the server's connection stays");
    client.send("HEAD /503 HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_answer_head();
    assert_eq!((head.status(), head.field("content-length")), (200, Some(PAGE.len().to_string())));
    let answer = send_all(balancer.front(), &[H2Request::get("/502")]).remove(0);
    assert_eq!((answer.status, answer.body.as_slice()), (200, PAGE.as_bytes()));

    let line = balancer.wait_for_log_line("the page", |line| line["target"] == "/500");
    assert_eq!(line["status"], 200, "as the client has it: {line}");
    assert!(line["cause"].is_null() && line["server"].is_string(), "{line}");
    let report = serde_json::to_value(balancer.report_when_idle()).unwrap();
    let statuses = &report["pools"][0]["servers"][0]["statuses"];
    assert_eq!(statuses["server-error"]["total"], 4, "the server's own are counted: {statuses}");
}

#[test]
fn a_changed_file_is_in_force_and_one_that_is_gone_is_refused() {
    let nobody = reserve_port();
    let dir = TestDir::new();
    let file = dir.write("50x.html", "first");
    let pages = format!("error-page = [{{ status = \"500-599\", file = {file:?} }}]\n");
    let setup = BalancerConfig::http(&[nobody.address()]).service(&pages);
    let balancer = TestBalancer::start(&setup);
    let page = || balancer.client().get("/").text();
    assert_eq!(page(), "first");
    dir.write("50x.html", "the second");
    wait::until("the second page", || page() == "the second");
    wait::until("an event", || balancer.count_events("error-page-renewed") == 1);

    std::fs::remove_file(&file).unwrap();
    wait::until("an event", || balancer.count_events("error-page-refused") == 1);
    assert_eq!(page(), "the second", "as before");
    let written = balancer.dir().join("steelyard.toml");
    let mut command = Command::new(program());
    command.arg("check").arg("-c").arg(&written).env("NO_COLOR", "1");
    let checked = run_command(command);
    assert_eq!(checked.code, 1, "{checked:?}");
    let expected = format!("cannot read {}: No such file", file.display());
    for part in ["service.shop.error-page[0].file", &expected, "or remove this entry"] {
        assert!(checked.stderr.contains(part), "{part}: {}", checked.stderr);
    }
    balancer.process().signal(rustix::process::Signal::HUP);
    wait::until("the refusal", || balancer.count_events("reload-failed") == 1);
    assert_eq!(page(), "the second");

    dir.write("50x.html", "a third");
    wait::until("the third page", || page() == "a third");
}
