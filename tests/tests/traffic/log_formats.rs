//! The combined log format, logfmt and CEF, read by strict readers: the combined one beside that of nginx for the same
//! requests.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::wait;

/// A line of the combined log format.
#[derive(Debug, PartialEq, Eq)]
struct CombinedLine {
    client: String,
    request: String,
    status: u16,
    referer: String,
    agent: String,
}

impl CombinedLine {
    /// Reads a line as Apache httpd's documentation has it, and nothing else.
    fn parse(line: &str) -> CombinedLine {
        let mut rest = line;
        let mut take = |end: &str| {
            let (taken, after) =
                rest.split_once(end).unwrap_or_else(|| panic!("no {end:?}: {line}"));
            rest = after;
            taken.to_owned()
        };
        let client = take(" ");
        assert!(client.parse::<std::net::IpAddr>().is_ok(), "{line}");
        assert_eq!(take(" ["), "- -", "{line}");
        let time = take("] \"");
        let form: String =
            time.chars().map(|char| if char.is_ascii_digit() { '0' } else { char }).collect();
        assert!(form.starts_with("00/") && form.ends_with("/0000:00:00:00 +0000"), "{line}");
        let mut quoted = Vec::new();
        let request = take_quoted(&mut rest, line);
        let numbers = rest.strip_prefix(' ').unwrap();
        let (status, after) = numbers.split_once(' ').unwrap();
        let (bytes, after) = after.split_once(" \"").unwrap();
        assert!(bytes.parse::<u64>().is_ok(), "{line}");
        rest = after;
        quoted.push(take_quoted(&mut rest, line));
        rest = rest.strip_prefix(" \"").unwrap_or_else(|| panic!("no user agent: {line}"));
        quoted.push(take_quoted(&mut rest, line));
        assert_eq!(rest, "", "nothing follows: {line}");
        let agent = quoted.pop().unwrap();
        let referer = quoted.pop().unwrap();
        CombinedLine { client, request, status: status.parse().unwrap(), referer, agent }
    }
}

/// The text up to the closing quote, with escapes as `\"`, `\\` and `\xNN` resolved. nginx writes all of them as `\xNN`.
fn take_quoted(rest: &mut &str, line: &str) -> String {
    let mut text = Vec::new();
    let mut bytes = rest.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                *rest = &rest[at + 1..];
                return String::from_utf8_lossy(&text).into_owned();
            }
            b'\\' => match bytes.next() {
                Some((_, b'x')) => {
                    let digits: Vec<u8> = bytes.by_ref().take(2).map(|(_, digit)| digit).collect();
                    let digits = std::str::from_utf8(&digits).unwrap();
                    text.push(u8::from_str_radix(digits, 16).unwrap());
                }
                Some((_, escaped @ (b'"' | b'\\'))) => text.push(escaped),
                other => panic!("{other:?} behind a backslash: {line}"),
            },
            b' '..=b'~' => text.push(byte),
            other => panic!("{other} in a line: {line}"),
        }
    }
    panic!("no closing quote: {line}")
}

/// Requests with hostile fields among them.
const REQUESTS: [&str; 5] = [
    "GET /a?b=c HTTP/1.1\r\nHost: a\r\nUser-Agent: curl/8\r\nReferer: https://x.example/y\r\n\r\n",
    "GET /b HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /c HTTP/1.1\r\nHost: a\r\nUser-Agent: a\" \"b\\\r\nReferer: \\\"\\x22\r\n\r\n",
    "GET /d HTTP/1.1\r\nHost: a\r\nUser-Agent: gr\u{fc}n \u{1f642}\r\n\r\n",
    "HEAD /e HTTP/1.1\r\nHost: a\r\nUser-Agent:   -  \r\nReferer: -\r\n\r\n",
];

fn lines(text: &str) -> Vec<CombinedLine> {
    let mut all: Vec<_> = text.lines().map(CombinedLine::parse).collect();
    // Each worker hands over its own lines.
    all.sort_by(|one, other| one.request.cmp(&other.request));
    all
}

fn send_all(front: std::net::SocketAddr) {
    for request in REQUESTS {
        let mut client = HttpClient::connect(front);
        client.send(request);
        let status = client.read_answer_head().status();
        assert_eq!(status, 200, "{request}");
    }
}

#[test]
fn the_combined_format_is_that_of_nginx() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()]);
    let balancer = TestBalancer::start(&setup.log_with("all = true, format = \"combined\""));
    let dir = TestDir::new();
    let file = dir.join("combined.log");
    let log = format!("access_log {} combined; location / {{ return 200 \"x\"; }}", file.display());
    // The location of the fixture is an exact one, so that this one takes the others.
    let nginx = Nginx::with("nginx", &log);
    send_all(balancer.front());
    send_all(nginx.address());
    let whole = |text: &str| text.lines().count() == REQUESTS.len() && text.ends_with('\n');
    wait::until("our lines", || whole(&balancer.log_text()));
    let theirs = || std::fs::read_to_string(&file).unwrap_or_default();
    wait::until("nginx's lines", || whole(&theirs()));
    assert_eq!(lines(&balancer.log_text()), lines(&theirs()));
    let found = balancer.cli_output(&["log", "--status", "200"]);
    assert!(found.contains("/a?b=c"), "{found}");
}

#[test]
fn goaccess_counts_every_line_of_the_combined_format() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()]);
    let balancer = TestBalancer::start(&setup.log_with("all = true, format = \"combined\""));
    send_all(balancer.front());
    let whole = || balancer.log_text().lines().count() == REQUESTS.len();
    wait::until("the lines", whole);
    let dir = TestDir::new();
    let file = dir.write("access.log", balancer.log_text());
    let report = dir.join("report.json");
    let ended = std::process::Command::new("goaccess")
        .arg(&file)
        .args(["--log-format=COMBINED", "--no-global-config", "--output"])
        .arg(&report)
        .output()
        .expect("tests/setup test installs goaccess");
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    let general = &report["general"];
    assert_eq!(general["total_requests"], REQUESTS.len(), "{general}");
    assert_eq!(general["failed_requests"], 0, "{general}");
}

#[test]
fn a_line_of_cef_is_read_by_its_rules_and_found_by_its_parts() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()]);
    let balancer = TestBalancer::start(&setup.log_with("all = true, format = \"cef\""));
    let mut client = balancer.client();
    client.send("GET /a=b|c HTTP/1.1\r\nHost: a\r\nUser-Agent: x\\ src=203.0.113.9\r\n\r\n");
    assert_eq!(client.read_answer().status(), 200);
    wait::until("a line", || balancer.log_text().ends_with('\n'));
    let text = balancer.log_text();
    let parts: Vec<&str> = text.splitn(8, '|').collect();
    let [form, vendor, product, _, class, name, severity, extension] = parts[..] else {
        panic!("not eight parts: {text}")
    };
    assert_eq!([form, vendor, product], ["CEF:0", "Steelyard", "Steelyard"]);
    assert_eq!([class, name, severity], ["200", "request completed", "1"]);
    assert!(extension.contains(" src=127.0.0.1 spt="), "{text}");
    assert!(extension.contains(" request=/a\\=b|c dhost=a "), "{text}");
    let agent = " requestClientApplication=x\\\\ src\\=203.0.113.9 outcome=200 ";
    assert!(extension.contains(agent), "{text}");
    let found = balancer.cli_output(&["log", "--server", "web/a", "--client", "127.0.0.1"]);
    assert!(found.contains("/a=b|c"), "{found}");
}

#[test]
fn logfmt_has_the_fields_that_are_asked_for() {
    let recorder = RecordingServer::start();
    let fields = "fields = [\"status\", \"client\", \"server\", \"user-agent\", \"target\"]";
    let setup = BalancerConfig::http(&[recorder.address()]);
    let keys = format!("all = true, format = \"logfmt\", {fields}");
    let balancer = TestBalancer::start(&setup.log_with(&keys));
    let mut client = balancer.client();
    client.send(REQUESTS[2]);
    assert_eq!(client.read_answer().status(), 200);
    wait::until("a line", || balancer.log_text().ends_with('\n'));
    let text = balancer.log_text();
    assert!(text.starts_with("status=200 client=127.0.0.1:"), "{text}");
    let rest = " server=web/a user-agent=\"a\\\" \\\"b\\\\\" target=/c\n";
    assert!(text.ends_with(rest), "{text}");
    let found = balancer.cli_output(&["log", "--server", "web/a"]);
    assert!(found.contains("/c"), "{found}");
}
