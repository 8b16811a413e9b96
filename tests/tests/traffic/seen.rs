//! The operator's view of traffic: the log, the report's sums, and the metrics.

use std::io::Write;

use api::types::Report;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::{origin, reserve_port};
use tests::e2e::tools::{ab, curl_text, wrk};
use tests::e2e::wait;

#[test]
fn the_log_has_what_was_asked_for_of_each_request() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    client.get("/bytes/1000");
    client.post("/echo?\"quoted\\", b"hello");
    client.get("/status/404");
    drop(client);
    wait::until("three lines", || balancer.log().len() == 3);
    let log = balancer.log();
    let row = |at: usize| {
        let line = &log[at];
        let words = ["method", "target", "by", "server", "service", "protocol"];
        let words = words.map(|key| line[key].as_str().unwrap().to_owned()).join(" ");
        (words, line["status"].as_u64().unwrap())
    };
    let tail = "server web/a shop HTTP/1.1";
    assert_eq!(row(0), (format!("GET /bytes/1000 {tail}"), 200));
    assert_eq!(row(1), (format!("POST /echo?\"quoted\\ {tail}"), 200));
    assert_eq!(row(2), (format!("GET /status/404 {tail}"), 404));
    assert!(log[0]["bytes-to-client"].as_u64() > Some(1_000), "{}", log[0]);
    assert!(log[1]["bytes-from-client"].as_u64() > Some(5), "{}", log[1]);
    assert_eq!((&log[0]["reused"], &log[2]["reused"]), (&().into(), &true.into()));
    for line in &log {
        let total = line["total-ms"].as_f64().unwrap();
        let parts =
            ["head-ms", "first-byte-ms", "transfer-ms"].map(|key| line[key].as_f64().unwrap());
        assert!(parts.iter().all(|part| *part <= total), "{line}");
        assert!(line["time"].as_str().unwrap().starts_with("20"), "{line}");
    }
}

#[test]
fn an_error_of_ours_names_its_cause_and_is_found_in_the_log() {
    let nobody = reserve_port();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[nobody.address()]));
    let answer = balancer.client().get("/lost");
    assert_eq!(answer.status(), 502);
    assert_eq!(answer.field("x-steelyard-cause").as_deref(), Some("server-refused"));
    let id = answer.field("x-steelyard-id").unwrap();
    let line = balancer.wait_for_log_line("the id", |line| line["id"] == id.as_str());
    assert_eq!((&line["target"], &line["cause"]), (&"/lost".into(), &"server-refused".into()));
    assert_eq!((&line["by"], &line["status"]), (&"balancer".into(), &502.into()));
    assert!(answer.text().contains(&id), "the page shows the id too: {}", answer.text());
}

#[test]
fn a_refused_request_is_found_in_the_log_by_what_came() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    for (came, method, target, defect) in [
        (
            "GET /twice HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            Some("GET"),
            "/twice",
            "host-repeated",
        ),
        (
            "PUT /both HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Some("PUT"),
            "/both",
            "",
        ),
        (
            "G@T /no\u{1b}method HTTP/1.1\r\nHost: a\r\n\r\n",
            None,
            "G@T /no\u{1b}method HTTP/1.1",
            "",
        ),
    ] {
        let mut client = balancer.client();
        client.send(came);
        assert_eq!(client.read_answer().status(), 400, "{came}");
        let line = balancer.wait_for_log_line(target, |line| line["target"] == target);
        assert_eq!(line["method"].as_str(), method, "{line}");
        assert_eq!(line["cause"], "bad-request", "{line}");
        assert!(line["defect"].as_str().is_some_and(|name| name.starts_with(defect)), "{line}");
        assert_eq!(line["host"], "a", "{line}");
        assert!(line["at"].as_u64().is_some(), "{line}");
        let found = line["found"].as_str().unwrap();
        assert!(["b", "2", "@T /no\u{1b}method HT"].contains(&found), "{line}");
    }
}

#[test]
fn the_common_form_says_what_was_wrong_with_a_refused_request() {
    let origin = origin("a");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).log_in_common_form());
    let mut client = balancer.client();
    client.send("GET /x HTTP/1.1\r\nHost: shop.example\r\nCookie: secret\u{1}secret\r\n\r\n");
    assert_eq!(client.read_answer().status(), 400);
    let wanted = "host=\"shop.example\" field=\"Cookie\" at=51 found=\"\\x01\"";
    let line = wait::until_some("a line", || {
        balancer.log_text().lines().find(|line| line.ends_with(wanted)).map(str::to_owned)
    });
    assert!(line.starts_with("127.0.0.1 - - ["), "{line}");
    assert!(line.contains(" bad-request:bad-value "), "{line}");
    assert!(!line.contains("secret"), "{line}");
}

#[test]
fn the_last_refused_requests_are_reported_with_what_was_wrong() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let flood = |n: usize| {
        let mut client = balancer.client();
        client.send(format!("GET /{n} HTTP/1.1\r\nHost: a\r\nAuthorization : s3cret\r\n\r\n"));
        assert_eq!(client.read_answer().status(), 400);
    };
    (0..70).for_each(flood);
    let mut client = balancer.client();
    client.send("POST /body HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n");
    assert_eq!(client.read_answer().status(), 400);
    let kept = wait::until_some("all of them", || {
        Some(balancer.refused()).filter(|kept| kept.over_client_limit == 7)
    });
    assert_eq!((kept.requests.len(), kept.max_per_client, kept.evicted), (64, 64, 0));
    // A request is recorded a moment after its response, so the order of neighbours may vary.
    let find = |target: &str| {
        kept.requests.iter().find(|kept| kept.target.as_deref() == Some(target)).unwrap()
    };
    let newest = find("/body");
    assert_eq!(newest.defect.as_deref(), Some("bad-chunk-size"));
    assert_eq!((newest.host.as_deref(), newest.status), (Some("b"), 400));
    let before = find("/69");
    assert_eq!(before.field.as_deref(), Some("Authorization"));
    assert_eq!((before.found.as_deref(), before.at), (Some(" "), Some(40)));
    assert!(before.client.starts_with("127.0.0.1:"), "{before:?}");
    let text = balancer.cli_output(&["report", "refused", "--service", "shop"]);
    assert!(text.contains("bad-request: space-before-colon"), "{text}");
    assert!(text.contains("7 of clients that had 64 already are not kept"), "{text}");
    let json = balancer.cli_output(&["report", "refused", "--json"]);
    assert!(json.contains("\"defect\": \"bad-chunk-size\"") && !json.contains("s3cret"), "{json}");
    let metrics = balancer.metrics();
    let lost =
        "steelyard_refused_requests_lost_total{reason=\"client-share\",why=\"client-share\"} 7";
    assert!(metrics.contains(lost), "{metrics}");
}

#[test]
fn the_reports_sums_add_up_whatever_happened() {
    let origin = origin("a");
    let nobody = reserve_port();
    let cut = ScriptedServer::start(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all");
    });
    let more = format!(
        "[service.dead]\nlisten = \"{}\"\nforward = \"http\"\npool = \"dead\"\n\
         [pool.dead]\nservers = [\"{}\"]\n\
         [service.cut]\nlisten = \"{}\"\nforward = \"http\"\npool = \"cut\"\n\
         [pool.cut]\nservers = [\"{}\"]\n",
        "127.0.0.1:DEAD",
        nobody.address(),
        "127.0.0.1:CUT",
        cut.address()
    );
    let dead = reserve_port();
    let cutting = reserve_port();
    let more = more.replace("127.0.0.1:DEAD", &dead.address().to_string());
    let more = more.replace("127.0.0.1:CUT", &cutting.address().to_string());
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).with_tables(&more));
    let mut client = balancer.client();
    for _ in 0..10 {
        client.get("/");
    }
    client.send("GET / HTTP/9\r\n\r\n");
    assert_eq!(client.read_answer().status(), 505);
    assert_eq!(tests::e2e::client::HttpClient::connect(dead.address()).get("/").status(), 502);
    for _ in 0..3 {
        let mut client = tests::e2e::client::HttpClient::connect(cutting.address());
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer_or_end(), None);
    }
    // The client disconnects before the response.
    let gone = balancer.client();
    gone.send("GET /delay/600000 HTTP/1.1\r\nHost: a\r\n\r\n");
    balancer.report_when("one under way", |report| report.total.requests.in_flight == 1);
    gone.reset();
    drop(client);
    let report = balancer.report_when_settled();
    let total = &report.total.requests;
    assert_eq!(total.requests.total, 16, "{total:?}");
    let ends = (total.answered.total, total.local_replies.total, total.aborted.total);
    assert_eq!((ends, total.unaccounted), ((10, 2, 4), 0), "{report:?}");
    let connections = &report.total.connections;
    assert_eq!((connections.accepted.total, connections.unaccounted), (6, 0));
    assert_eq!(connections.closed.total, 6);
    let causes: Vec<_> =
        report.total.causes.iter().map(|c| (c.cause.as_str(), c.count.total)).collect();
    let named = [
        ("bad-request", 1),
        ("client-closed-response", 1),
        ("server-refused", 1),
        ("response-truncated", 3),
    ];
    for cause in named {
        assert!(causes.contains(&cause), "{cause:?} in {causes:?}");
    }
    assert_eq!(causes.iter().map(|(_, count)| count).sum::<u64>(), 6, "{causes:?}");
    let defects = &report.total.defects;
    assert!(defects.len() == 1 && defects[0].count.total == 1, "{defects:?}");
}

#[test]
fn a_scrape_agrees_with_the_report() {
    let origin = origin("a");
    let port = reserve_port();
    let setup = BalancerConfig::http(&[origin.address()]);
    let balancer = TestBalancer::start(&setup.global(&format!("metrics = \"{}\"", port.address())));
    for _ in 0..7 {
        balancer.client().get("/");
    }
    balancer.report_when_settled();
    let text = curl_text(&[format!("http://{}/metrics", port.address())]);
    assert!(text.ends_with("# EOF\n"), "{text}");
    let value = |name: &str, label: &str| {
        let line = text.lines().find(|line| line.starts_with(name) && line.contains(label));
        let line = line.unwrap_or_else(|| panic!("no {name} with {label} in {text}"));
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(value("steelyard_service_requests_total", "service=\"shop\""), 7.0);
    assert_eq!(value("steelyard_server_requests_total", "server=\"a\""), 7.0);
    let phases = text.lines().filter(|line| line.contains("phase=\"first-byte\"")).count();
    assert!(phases > 0, "{text}");
}

#[test]
fn a_log_that_cannot_be_written_costs_lines_and_no_request() {
    let origin = origin("a");
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).log_to("/dev/full"));
    let run = ab(balancer.front(), "/", 500, 8, true);
    assert_eq!((run.complete, run.failed, run.not_2xx), (500, 0, 0));
    let dropped = |report: &Report| report.process.log_lines_dropped.total;
    let report = balancer.report_when("every line counted", |report| dropped(report) >= 500);
    assert_eq!(dropped(&report), 500);
    assert_eq!(balancer.client().get("/").status(), 200);
}

#[test]
fn sums_hold_while_load_runs() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]).quiet());
    let front = balancer.front();
    let load = std::thread::spawn(move || wrk(front, "/", 32, 2));
    let mut looks = 0;
    while !load.is_finished() {
        let requests = balancer.report().total.requests;
        // The counters of the slots change while they are read one after another.
        assert!(requests.unaccounted.abs() <= 64, "{requests:?}");
        looks += 1;
    }
    assert!(looks > 10);
    assert_eq!(load.join().unwrap().errors, 0);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}
