//! Compressed responses: complete for every client and coding, omitted where not allowed, never truncated unnoticed,
//! never stalled.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Mutex;
use std::sync::mpsc;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::tools::{curl, program};
use tests::e2e::wait;

const ON: &str = "compress = { max-cpu = 100 }\nhttp2 = \"always\"\n";

fn text() -> String {
    (0..6_000).map(|at| format!("line {} of a page that says little\n", at % 977)).collect()
}

/// A server whose response depends on the target.
fn server() -> ScriptedServer {
    ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
                return;
            }
            let target = request.start.split(' ').nth(1).unwrap_or_default().to_owned();
            if answer(&stream, &target).is_none() {
                return;
            }
        }
    })
}

/// `None` means that the server closes the connection after the response.
fn answer(mut to: &TcpStream, target: &str) -> Option<()> {
    let (text, html) = (text(), "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n");
    let length = text.len();
    match target {
        "/chunked" | "/cut-chunks" => {
            write!(to, "{html}Trailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n").ok()?;
            let pieces: Vec<_> = text.as_bytes().chunks(10_007).collect();
            let sent = if target == "/chunked" { pieces.len() } else { pieces.len() / 2 };
            for piece in &pieces[..sent] {
                write!(to, "{:x}\r\n", piece.len()).ok()?;
                to.write_all(piece).ok()?;
                write!(to, "\r\n").ok()?;
            }
            if target == "/cut-chunks" {
                return None;
            }
            write!(to, "0\r\nX-End: yes\r\n\r\n").ok()
        }
        "/close" => {
            write!(to, "{html}Connection: close\r\n\r\n{text}").ok()?;
            None
        }
        "/endless" => {
            write!(to, "{html}\r\n{text}").ok()?;
            // Waits until the balancer closes the connection.
            let _ = to.read(&mut [0]);
            None
        }
        "/cut" => {
            write!(to, "{html}Content-Length: {length}\r\n\r\n{}", &text[..length / 2]).ok()?;
            None
        }
        _ => {
            // The target's query may list response fields, separated by `;`.
            let told = target.split_once('?').map_or("", |(_, told)| told);
            let told: String =
                told.split(';').filter(|line| !line.is_empty()).fold(String::new(), |all, line| {
                    all + &line.replace('=', ": ").replace("%20", " ").replace("%22", "\"") + "\r\n"
                });
            let html = match () {
                () if told.to_lowercase().contains("content-type") => "HTTP/1.1 200 OK\r\n",
                () if target.starts_with("/part") => {
                    "HTTP/1.1 206 Partial Content\r\nContent-Type: text/html\r\n"
                }
                () => html,
            };
            let body = if target.starts_with("/small") { "little" } else { &text };
            let length = body.len();
            let body = if target.contains("head") { "" } else { body };
            write!(to, "{html}{told}Content-Length: {length}\r\n\r\n{body}").ok()
        }
    }
}

#[test]
fn curl_reads_every_coding_of_every_body_in_either_protocol() {
    let server = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(ON));
    let text = text();
    for coding in ["gzip", "br", "zstd"] {
        for version in ["--http1.1", "--http2-prior-knowledge"] {
            for path in ["/length", "/chunked", "/close"] {
                let head = balancer.dir().join("head").display().to_string();
                let accept = format!("Accept-Encoding: {coding}");
                let url = balancer.url(path);
                let got = curl(&["--compressed", "-H", &accept, version, "-D", &head, &url]);
                let head = std::fs::read_to_string(&head).unwrap().to_lowercase();
                let said = format!("{coding} {version} {path}: {head}");
                assert!(got == text.as_bytes(), "{said} {} bytes", got.len());
                assert!(head.contains(&format!("content-encoding: {coding}\r\n")), "{said}");
                assert!(head.contains("vary: accept-encoding\r\n"), "{said}");
                assert!(!head.contains("content-length"), "{said}");
            }
        }
    }
    let report = balancer.report_when_settled();
    let count = |name: &str| {
        let found = report.total.bodies.iter().find(|one| one.name == name);
        found.map_or(0, |one| one.count.total)
    };
    assert_eq!((count("compressed"), report.total.requests.answered.total), (18, 18));
    assert_eq!(count("compress-bytes-in"), 18 * text.len() as u64);
    let out = count("compress-bytes-out");
    assert!(out > 0 && out * 10 < count("compress-bytes-in"), "{out}");
}

fn ask(client: &mut HttpClient, line: &str, fields: &str) -> ReceivedMessage {
    client.send(format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    client.read_answer()
}

#[test]
fn what_must_stay_as_it_is_does_and_validators_become_weak() {
    let server = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(ON));
    let gzip = "Accept-Encoding: gzip\r\n";
    let plain: [(&str, &str, Option<&str>); 12] = [
        ("/page", "", Some("Accept-Encoding")),
        ("/page", "Accept-Encoding: identity, gzip;q=0\r\n", Some("Accept-Encoding")),
        ("/page?vary=accept-encoding", "", Some("accept-encoding")),
        ("/small", gzip, None),
        ("/part?content-range=bytes%200-9/10", gzip, None),
        ("/page?content-encoding=br", gzip, None),
        ("/page?cache-control=no-transform", gzip, None),
        ("/page", "Accept-Encoding: gzip\r\nCache-Control: no-transform\r\n", None),
        ("/page?content-type=image/png", gzip, None),
        ("/page?digest=x", gzip, None),
        ("/page?etag=%22a%22;content-type=image/png", gzip, None),
        ("/page?vary=*", "", Some("*")),
    ];
    let mut client = balancer.client();
    for (path, fields, vary) in plain {
        let got = ask(&mut client, &format!("GET {path}"), fields);
        let coded = got.field("content-encoding").filter(|coding| coding != "br");
        assert_eq!((coded, got.field("vary").as_deref()), (None, vary), "{path} {fields}");
        assert!(got.field("content-length").is_some(), "{path}");
        assert!(got.field("etag").is_none_or(|tag| !tag.starts_with("W/")), "{path}");
    }
    let coded = [
        ("/page?etag=%22a%22;accept-ranges=bytes", Some("W/\"a\"")),
        ("/page?etag=W/%22a%22", Some("W/\"a\"")),
        ("/page", None),
    ];
    for (path, tag) in coded {
        let got = ask(&mut client, &format!("GET {path}"), gzip);
        assert_eq!(got.field("content-encoding").as_deref(), Some("gzip"), "{path}");
        assert_eq!((got.field("etag").as_deref(), got.field("accept-ranges")), (tag, None));
        let mut read = String::new();
        flate2::read::GzDecoder::new(&got.body[..]).read_to_string(&mut read).unwrap();
        assert!(read == text(), "{path}");
    }
    client.send(format!("HEAD /page-head HTTP/1.1\r\nHost: a\r\n{gzip}\r\n"));
    let head = client.read_answer_head();
    // The fields are those of GET, without the coding. The server's length is dropped, because it is not the length of
    // the compressed body.
    assert_eq!((head.field("content-encoding"), head.field("content-length")), (None, None));
    assert_eq!(head.field("vary").as_deref(), Some("Accept-Encoding"));
    let mut old = balancer.client();
    old.send(format!("GET /page HTTP/1.0\r\n{gzip}\r\n"));
    let got = old.read_answer();
    assert_eq!((got.field("content-encoding"), got.text() == text()), (None, true), "HTTP/1.0");
}

#[test]
fn trailers_come_behind_the_compressed_body() {
    let server = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(ON));
    let mut client = balancer.client();
    client.send(
        "GET /chunked HTTP/1.1\r\nHost: a\r\nAccept-Encoding: zstd\r\nConnection: close\r\n\r\n",
    );
    let all = client.read_to_end();
    assert!(
        all.ends_with(b"\r\n0\r\nX-End: yes\r\n\r\n"),
        "{}",
        all[all.len() - 40..].escape_ascii()
    );
}

#[test]
fn a_body_that_was_cut_is_an_error_for_the_client() {
    let server = server();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(ON));
    for path in ["/cut", "/cut-chunks"] {
        for coding in ["gzip", "br", "zstd"] {
            for version in ["--http1.1", "--http2-prior-knowledge"] {
                let mut command = Command::new(program("curl"));
                command.args(["-sS", "--max-time", "20", "--compressed", "-H"]);
                command.arg(format!("Accept-Encoding: {coding}")).arg(version);
                let ended = command.arg(balancer.url(path)).output().unwrap();
                assert!(!ended.status.success(), "{path} {coding} {version}: {ended:?}");
            }
        }
    }
    balancer.wait_for_log_line("the cause", |line| line["cause"] == "response-truncated");
}

/// Reads one chunk of a response.
fn chunk(client: &mut HttpClient) -> Vec<u8> {
    let mut size = Vec::new();
    while !size.ends_with(b"\r\n") {
        size.extend(client.read_exactly(1));
    }
    let digits = String::from_utf8(size).unwrap();
    let bytes = client.read_exactly(usize::from_str_radix(digits.trim_end(), 16).unwrap());
    assert_eq!(client.read_exactly(2), b"\r\n");
    bytes
}

/// Decodes as much as possible of a compressed body's start.
fn so_far(coded: &[u8]) -> String {
    let mut reader = flate2::read::GzDecoder::new(coded);
    let mut out = Vec::new();
    let mut piece = [0; 64];
    while let Ok(n @ 1..) = reader.read(&mut piece) {
        out.extend_from_slice(&piece[..n]);
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn an_event_is_there_before_the_next_one_is_made() {
    let (next, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let server = ScriptedServer::start(move |stream| {
        let mut reader = HttpReader::new(&stream);
        let Ok(Some(_)) = reader.head() else { return };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        (&stream).write_all(head.as_bytes()).unwrap();
        for at in 0.. {
            if wait.lock().unwrap().recv().is_err() || write!(&stream, "data: {at}\n\n").is_err() {
                return;
            }
        }
    });
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).service(ON));
    let mut client = balancer.client();
    let fields = "Accept-Encoding: gzip\r\nConnection: close\r\n";
    client.send(format!("GET /events HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    let head = client.read_answer_head();
    assert_eq!(head.field("content-encoding").as_deref(), Some("gzip"));
    let mut coded = Vec::new();
    let mut said = String::new();
    for at in 0..5 {
        next.send(()).unwrap();
        said.push_str(&format!("data: {at}\n\n"));
        while so_far(&coded) != said {
            coded.extend(chunk(&mut client));
        }
    }
    drop(next);
    let rest = client.read_to_end();
    assert!(rest.ends_with(b"0\r\n\r\n"), "{}", rest.escape_ascii());
}

#[test]
fn no_more_are_compressed_at_a_time_than_was_said() {
    let server = server();
    let setup = BalancerConfig::http(&[server.address()]).global("workers = 1");
    let balancer =
        TestBalancer::start(&setup.service("compress = { max-concurrent = 1, max-cpu = 100 }\n"));
    let gzip = "Accept-Encoding: gzip\r\n";
    let mut endless = balancer.client();
    endless.send(format!("GET /endless HTTP/1.1\r\nHost: a\r\n{gzip}\r\n"));
    assert_eq!(endless.read_answer_head().field("content-encoding").as_deref(), Some("gzip"));
    let mut client = balancer.client();
    let got = ask(&mut client, "GET /page", gzip);
    assert_eq!((got.field("content-encoding"), got.text() == text()), (None, true));
    assert_eq!(got.field("vary").as_deref(), Some("Accept-Encoding"));
    endless.reset();
    wait::until("the place is free again", || {
        ask(&mut client, "GET /page", gzip).field("content-encoding").is_some()
    });
}

/// A cache stores one response per coding. A response without a body must therefore name Accept-Encoding in Vary too.
#[test]
fn a_304_and_an_answer_to_head_say_what_the_compressed_answer_says() {
    let rows = [
        (
            "HEAD",
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"v1\"\r\nContent-Length: 5000\r\n\
             Accept-Ranges: bytes\r\n\r\n",
        ),
        (
            "GET",
            "HTTP/1.1 304 Not Modified\r\nETag: \"v1\"\r\nVary: Cookie\r\nContent-Length: 5000\r\n\
             Accept-Ranges: bytes\r\n\r\n",
        ),
    ];
    for (method, answer) in rows {
        let server = ScriptedServer::answering(answer.as_bytes());
        let balancer = TestBalancer::start(
            &BalancerConfig::http(&[server.address()]).service("compress = true"),
        );
        for (accept, tag) in [("gzip", "W/\"v1\""), ("identity", "\"v1\"")] {
            let mut client = balancer.client();
            client.send(format!("{method} / HTTP/1.1\r\nHost: a\r\nAccept-Encoding: {accept}\r\nConnection: close\r\n\r\n"));
            let told = client.read_to_end();
            let told = String::from_utf8_lossy(&told).to_lowercase();
            assert!(told.contains("vary: accept-encoding"), "{method} {accept}: {told}");
            assert!(
                told.contains(&format!("etag: {}", tag.to_lowercase())),
                "{method} {accept}: {told}"
            );
            assert!(!told.contains("content-encoding"), "{told}");
            // The length and the ranges do not apply to the compressed response.
            for field in ["content-length: 5000", "accept-ranges: bytes"] {
                assert_eq!(told.contains(field), accept == "identity", "{method} {accept}: {told}");
            }
        }
    }
}
