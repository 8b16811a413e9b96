//! `bench http` against nginx: counts, connection closing, scenarios, TLS, steps and files.

use lab::result_note::NoteSeverity;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::nginx::Nginx;
use tests::e2e::servers::{self, addresses};

use crate::measured::{bench, failing, figure, said};

// Rows: L08, L09, L16
#[test]
fn every_request_is_counted_and_kept_with_its_origin() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    let result = bench(&[&url, "-n", "2000", "-c", "8", "-t", "2"]);
    assert!(result.complete, "{:?}", result.notes);
    let run = &result.runs[0];
    assert_eq!((figure(run, "answered"), figure(run, "failed")), (2_000.0, 0.0));
    assert_eq!(figure(run, "status-2xx"), 2_000.0);
    // By default, nginx closes a connection after a thousand requests.
    assert!((8.0..=12.0).contains(&figure(run, "connections")));
    let counted: u64 = run.histogram.iter().map(|bucket| bucket.count).sum();
    assert_eq!(counted, 2_000);
    assert!(!run.processors.is_empty() && run.threads_busy.len() == 2);
    let beside = run.beside.as_ref().unwrap();
    assert!(beside.context_switches > 0.0 && beside.memory_total > 0, "{beside:?}");
    assert!(beside.interfaces.iter().any(|one| one.name == "lo"), "{beside:?}");
    let from = &result.provenance;
    assert!(from.sysctls.contains_key("net.ipv4.ip_local_port_range"), "{from:?}");
    assert!(from.command.iter().any(|word| word == &url) && !from.kernel.is_empty());
}

// Rows: L07
#[test]
fn whoever_closes_closes() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    for who in ["client", "server", "reset"] {
        let result = bench(&[&url, "-n", "300", "-c", "4", "--close", who]);
        let run = &result.runs[0];
        assert_eq!((figure(run, "answered"), figure(run, "connections")), (300.0, 300.0), "{who}");
        assert_eq!(figure(run, "connect-count"), 300.0, "{who}");
    }
}

#[test]
fn source_addresses_take_turns() {
    let nginx = Nginx::with("a", "location /who { return 200 $remote_addr; }");
    let dir = TestDir::new();
    let scenario =
        dir.write("who.toml", "[[request]]\npath = \"/who\"\nexpect = { text = \"127.0.0.2\" }\n");
    let url = format!("http://{}/", nginx.address());
    let file = scenario.display().to_string();
    let from = ["--close", "reset", "--from", "127.0.0.2,127.0.0.3"];
    let arguments =
        [&[url.as_str(), "-n", "100", "-c", "1", "--scenario", &file], &from[..]].concat();
    let (code, result) = failing(&arguments);
    assert_eq!(code, 3, "half of the answers lack the text");
    let run = &result.runs[0];
    assert_eq!(run.failed["unexpected-text"], 50, "{:?}", run.failed);
    assert_eq!(figure(run, "answered"), 50.0);
}

// Rows: L14
#[test]
fn a_scenario_is_asked_by_weight_and_checked() {
    let nginx = Nginx::with(
        "a",
        "location /cart { if ($request_method = POST) { return 201 \"ok $http_x_id\"; } return 405; }\n\
         location /gone { return 404; }",
    );
    let dir = TestDir::new();
    let text = "[[request]]\npath = \"/\"\nweight = 7\nexpect = { status = 200, bytes = 2, text = \"a\" }\n\
                [[request]]\npath = \"/cart\"\nmethod = \"POST\"\nweight = 2\nbody = \"a=1\"\n\
                headers = { X-Id = \"7\" }\nexpect = { status = 201, text = \"ok 7\" }\n\
                [[request]]\npath = \"/gone\"\nmethod = \"HEAD\"\nexpect = { status = 404 }\n";
    let file = dir.write("shop.toml", text).display().to_string();
    let url = format!("http://{}/", nginx.address());
    let result = bench(&[&url, "-n", "1000", "--scenario", &file]);
    let run = &result.runs[0];
    assert_eq!(
        (figure(run, "answered"), figure(run, "failed")),
        (1_000.0, 0.0),
        "{:?}",
        run.failed
    );
    assert_eq!((figure(run, "status-2xx"), figure(run, "status-4xx")), (900.0, 100.0));
    assert_eq!(result.provenance.digest.as_ref().unwrap().len(), 16);
}

#[test]
fn tls_is_spoken_with_and_without_resumption() {
    let dir = TestDir::new();
    let names = ["localhost"];
    let pair =
        CertificateAuthority::new("lab").pair(dir.join("pair.pem"), &certificate_for(&names));
    let pair = pair.display();
    let nginx = Nginx::tls("a", &format!("ssl_certificate {pair}; ssl_certificate_key {pair};\n"));
    let url = format!("https://{}/page", nginx.address());
    for more in [&["-n", "40"][..], &["-n", "40", "--close", "client", "--no-resumption"]] {
        let result = bench(&[&[url.as_str(), "-c", "2"], more].concat());
        let run = &result.runs[0];
        assert_eq!(figure(run, "answered"), 40.0, "{more:?}: {:?}", run.failed);
        assert!(figure(run, "received") > 0.0);
    }
    let plain = format!("https://{}/", Nginx::start("b").address());
    let (code, result) = failing(&[&plain, "-n", "3", "-c", "1"]);
    assert_eq!(code, 3);
    assert!(!result.complete, "nobody speaks TLS there");
}

/// nginx sends GOAWAY on each connection after `keepalive_requests` requests.
#[test]
fn streams_share_connections_and_follow_a_farewell() {
    let pair = CertificateAuthority::new("lab");
    let dir = TestDir::new();
    let pair = pair.pair(dir.join("pair.pem"), &certificate_for(&["localhost"]));
    let lines = format!(
        "ssl_certificate {0}; ssl_certificate_key {0};\nkeepalive_requests 100;\n",
        pair.display()
    );
    let nginx = Nginx::http2("b", &lines);
    let url = format!("https://{}/", nginx.address());
    for pace in [&["-n", "3000"][..], &["--rate", "2000", "-d", "1s"]] {
        let result = bench(&[&[url.as_str(), "--http2", "-c", "2", "-m", "16"], pace].concat());
        let run = &result.runs[0];
        let answered = figure(run, "answered");
        let connections = figure(run, "connections");
        assert!(run.failed.is_empty() && answered >= 1_900.0, "{answered}: {:?}", run.failed);
        // Streams beside the last allowed request may have to use the next connection.
        let fewest = answered / 100.0;
        assert!(
            (fewest..fewest * 1.5 + 4.0).contains(&connections),
            "{connections} for {answered}"
        );
    }
    let (code, refused) = said(&[&url, "-m", "2"]);
    assert!(code == 2 && refused.contains("--http2"), "{refused}");
}

#[test]
fn http_2_is_spoken_with_and_without_tls_by_who_was_asked_to() {
    let origins = [servers::origin("a")];
    let pair = CertificateAuthority::new("lab");
    let dir = TestDir::new();
    let pair = pair.pair(dir.join("pair.pem"), &certificate_for(&["localhost"]));
    for (scheme, lines) in
        [("http", "http2 = \"always\"\n".to_owned()), ("https", format!("tls = {pair:?}\n"))]
    {
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&lines));
        let url = balancer.url("/bytes/70000").replacen("http", scheme, 1);
        let result = bench(&[&url, "--http2", "-n", "300", "-c", "3"]);
        let run = &result.runs[0];
        let of = |name: &str| figure(run, name);
        assert_eq!((of("answered"), of("connections")), (300.0, 3.0), "{:?}", run.failed);
        assert!(of("received") * of("time") / 8.0 > 300.0 * 70_000.0, "whole bodies");
        balancer.wait_for_log_line("HTTP/2", |line| {
            line["protocol"] == "HTTP/2" && line["status"] == 200
        });
        let each = bench(&[&url, "--http2", "-n", "20", "-c", "2", "--close", "client"]);
        assert_eq!(figure(&each.runs[0], "connections"), 20.0);
    }
    let scenario = dir.write(
        "post.toml",
        "[[request]]\npath = \"/echo\"\nmethod = \"POST\"\nbody-bytes = 300000\nexpect = { bytes = 300000 }\n",
    );
    let file = scenario.display().to_string();
    let balancer = TestBalancer::start(
        &BalancerConfig::http(&addresses(&origins)).service("http2 = \"always\"\n"),
    );
    let result =
        bench(&[&balancer.url("/"), "--http2", "-n", "10", "-c", "1", "--scenario", &file]);
    assert_eq!(figure(&result.runs[0], "answered"), 10.0, "{:?}", result.runs[0].failed);

    let names = format!("ssl_certificate {0}; ssl_certificate_key {0};\n", pair.display());
    let nginx = Nginx::tls("b", &names);
    let (code, result) = failing(&[&format!("https://{}/", nginx.address()), "--http2", "-n", "3"]);
    let failed = &result.runs[0].failed;
    let causes: Vec<&str> = failed.keys().map(String::as_str).collect();
    assert!(code == 3 && matches!(causes[..], ["http2-not-chosen"] | ["tls-failed"]), "{failed:?}");
}

#[test]
fn an_open_loop_keeps_its_rate_and_steps_are_tests() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    let result = bench(&[&url, "--rate", "100..300/100", "-d", "1s", "--repeat", "2"]);
    let tests: Vec<&str> = result.runs.iter().map(|run| run.test.as_str()).collect();
    let once = ["100 requests/s", "200 requests/s", "300 requests/s"];
    assert_eq!(tests, [once, once].concat(), "repeats take turns");
    for (run, rate) in result.runs.iter().zip([100.0, 200.0, 300.0, 100.0, 200.0, 300.0]) {
        assert_eq!(figure(run, "requests"), rate, "every start was due");
    }
}

#[test]
fn a_page_with_plots_asks_nothing_of_any_network() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    let dir = TestDir::new();
    let page = dir.join("page.html").display().to_string();
    bench(&[&url, "-d", "3s", "-c", "2", "--html", &page, "--warm-up", "100ms"]);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.matches("<svg").count() >= 3, "{text}");
    for word in ["src=", "href=", "@import", "url("] {
        assert!(!text.contains(word), "`{word}` in the page");
    }
}

#[test]
fn capacity_is_searched_up_to_what_may_be_tried() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    let search =
        ["--find-capacity", "--objective", "p50 < 20s", "--search-from", "20", "--search-to", "80"];
    let result = bench(&[&[url.as_str(), "-d", "1s"], &search[..]].concat());
    let capacity = result.runs.iter().find(|run| run.test == "capacity").unwrap();
    assert_eq!(figure(capacity, "capacity"), 80.0);
    assert_eq!(result.search.unwrap().held, Some(80.0));
    let trials: Vec<f64> = result
        .runs
        .iter()
        .filter(|run| run.test != "capacity")
        .map(|run| figure(run, "requests"))
        .collect();
    assert_eq!(trials, [20.0, 40.0, 80.0, 80.0, 80.0, 80.0], "doubled, then confirmed three times");
    let text = ["--objective", "p99.9 < 1ms", "--find-capacity", "--search-from", "1", "-d", "1s"];
    let (code, said) = crate::measured::said(&[&[url.as_str()], &text[..]].concat());
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("proves nothing"), "{said}");
}

// Rows: L06
#[test]
fn a_client_that_has_too_few_descriptors_says_so_itself() {
    let nginx = Nginx::start("a");
    let url = format!("http://{}/", nginx.address());
    let (code, result) = crate::measured::with_descriptors(64, &[&url, "-c", "200", "-n", "400"]);
    assert_eq!(code, 3);
    let limits: Vec<&str> = result
        .notes
        .iter()
        .filter(|note| note.weight == NoteSeverity::ClientLimit)
        .map(|note| note.text.as_str())
        .collect();
    assert!(limits.iter().any(|text| text.contains("ulimit -n")), "foretold: {limits:?}");
    assert!(
        limits.iter().any(|text| text.contains("say nothing about the target")),
        "named: {limits:?}"
    );
    assert!(result.runs[0].failed.contains_key("no-local-resource"), "{:?}", result.runs[0].failed);
}
