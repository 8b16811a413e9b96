//! Answers of servers that a page replaces, whatever their bodies are: the client gets the page at once, and nothing that
//! describes another body.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Mutex, mpsc};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::HttpReader;
use tests::e2e::nginx::Nginx;
use tests::e2e::recording_server::ScriptedServer;

const PAGE: &str = "<h1>We are back soon</h1>";

/// An answer of the server.
struct ScriptedAnswer {
    path: &'static str,
    head: &'static str,
    body: &'static str,
    /// The connection to the server carries the next request.
    is_reused: bool,
}

const ANSWERS: [ScriptedAnswer; 9] = [
    ScriptedAnswer {
        path: "/whole",
        head: "503 Busy\r\nContent-Type: application/json\r\nContent-Length: 5\r\nX-Inner: yes",
        body: "inner",
        is_reused: true,
    },
    ScriptedAnswer {
        path: "/packed",
        head: "500 x\r\nContent-Encoding: gzip\r\nETag: \"a\"\r\nVary: Accept-Encoding\r\nContent-Length: 3",
        body: "\x1f\x0b\x08",
        is_reused: true,
    },
    ScriptedAnswer {
        path: "/chunks",
        head: "502 x\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked",
        body: "5\r\ninner\r\n0\r\nX-Sum: 1\r\n\r\n",
        is_reused: true,
    },
    ScriptedAnswer {
        path: "/range",
        head: "416 x\r\nContent-Range: bytes */9\r\nContent-Length: 0",
        body: "",
        is_reused: true,
    },
    ScriptedAnswer {
        path: "/interim",
        head: "103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 404 x\r\nContent-Length: 1",
        body: "x",
        is_reused: true,
    },
    ScriptedAnswer {
        path: "/more",
        head: "503 x\r\nContent-Length: 5",
        body: "inner and bytes that belong to no request",
        is_reused: false,
    },
    ScriptedAnswer {
        path: "/stalls",
        head: "503 x\r\nContent-Length: 50000000",
        body: "inner",
        is_reused: false,
    },
    ScriptedAnswer { path: "/open", head: "500 x", body: "inner", is_reused: false },
    ScriptedAnswer {
        path: "/broken",
        head: "500 x\r\nTransfer-Encoding: chunked",
        body: "zz\r\ninner",
        is_reused: false,
    },
];

/// Gives the answer that the path names. A connection that is not reused stays open until the balancer closes it.
fn answer_by_path(mut stream: TcpStream) {
    let mut reader = HttpReader::new(stream.try_clone().unwrap());
    while let Ok(Some(request)) = reader.head() {
        let path = request.start.split(' ').nth(1).unwrap_or_default();
        let answer = ANSWERS.iter().find(|answer| answer.path == path).unwrap();
        let text = format!("HTTP/1.1 {}\r\n\r\n{}", answer.head, answer.body);
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
        if !answer.is_reused {
            let _ = stream.read_to_end(&mut Vec::new());
            return;
        }
    }
}

fn setup(server: std::net::SocketAddr) -> BalancerConfig {
    let lines = format!(
        "http2 = \"always\"\n\
         error-page = [{{ status = \"400-599\", body = {PAGE:?}, intercept = true, headers = [\"X-Twice: page\"] }}]\n"
    );
    let rule = "[[service.shop.rule]]\nrewrite = { response-set = [\"Content-Type: a/b\", \"X-Set: 1\", \"X-Twice: rule\"], \
                response-add = [{ field = \"Cache-Control: max-age=9\", own = true }] }\n";
    BalancerConfig::http(&[server])
        .global("workers = 1\n")
        .service(&lines)
        .pool("eject = \"off\"\nretries = 0\n")
        .with_tables(rule)
}

#[test]
fn nothing_of_a_replaced_body_reaches_the_client() {
    let server = ScriptedServer::start(answer_by_path);
    let balancer = TestBalancer::start(&setup(server.address()));
    for ScriptedAnswer { path, head, is_reused, .. } in ANSWERS {
        let status: u16 = match path {
            "/interim" => 404,
            _ => head.split(' ').next().unwrap().parse().unwrap(),
        };
        let before = server.accepted();
        let mut client = balancer.client();
        for _ in 0..2 {
            if path == "/interim" {
                client.send_get(path);
                assert_eq!(client.read_answer_head().status(), 103);
                assert_eq!(client.read_answer().text(), PAGE);
                continue;
            }
            let answer = client.get(path);
            assert_eq!((answer.status(), answer.text().as_str()), (status, PAGE), "{path}");
            let field = |name: &str| answer.field(name);
            assert_eq!(field("content-type").as_deref(), Some("text/html"), "{path}");
            assert_eq!(field("cache-control").as_deref(), Some("no-store"), "{path}");
            assert_eq!(field("x-set").as_deref(), Some("1"), "{path}");
            assert_eq!(field("x-twice").as_deref(), Some("page"), "{path}");
            for gone in [
                "content-encoding",
                "content-range",
                "etag",
                "trailer",
                "transfer-encoding",
                "vary",
                "x-inner",
            ] {
                assert_eq!(field(gone), None, "{path}: {gone}");
            }
        }
        let opened = server.accepted() - before;
        assert!(if is_reused { opened <= 1 } else { opened >= 1 }, "{path}: {opened}");
        let by_http2 = send_all(balancer.front(), &[H2Request::get(path)]).remove(0);
        assert!(by_http2.error.is_none(), "{path}: {:?}", by_http2.error);
        assert_eq!(
            (by_http2.status, by_http2.body.as_slice()),
            (status, PAGE.as_bytes()),
            "{path}"
        );
        assert_eq!(by_http2.field("content-type").as_deref(), Some("text/html"), "{path}");
    }
    let report = balancer.report_when_idle();
    assert!(report.total.causes.is_empty(), "{:?}", report.total.causes);
    assert_eq!(report.pools[0].servers[0].in_flight, 0);
}

/// The client has the page before the server has sent its body, and the connection serves the next request all the same.
#[test]
fn a_body_that_comes_later_is_not_waited_for_and_costs_no_connection() {
    for (head, body) in
        [("Content-Length: 5", "inner"), ("Transfer-Encoding: chunked", "5\r\ninner\r\n0\r\n\r\n")]
    {
        let (release, released) = mpsc::channel();
        let released = Mutex::new(released);
        let server = ScriptedServer::start(move |mut stream| {
            let mut reader = HttpReader::new(stream.try_clone().unwrap());
            while let Ok(Some(_)) = reader.head() {
                stream.write_all(format!("HTTP/1.1 503 x\r\n{head}\r\n\r\n").as_bytes()).unwrap();
                if released.lock().unwrap().recv().is_err() {
                    return;
                }
                stream.write_all(body.as_bytes()).unwrap();
            }
        });
        let balancer = TestBalancer::start(&setup(server.address()));
        let mut client = balancer.client();
        for _ in 0..3 {
            assert_eq!(client.get("/").text(), PAGE);
            release.send(()).unwrap();
            balancer.report_when("the server is free", |report| {
                report.pools[0].servers[0].in_flight == 0
            });
        }
        assert_eq!(server.accepted(), 1, "{head}");
    }
}

#[test]
fn a_request_that_has_not_ended_gets_its_page_and_an_old_client_gets_it_too() {
    let server = ScriptedServer::start(answer_by_path);
    let balancer = TestBalancer::start(&setup(server.address()));
    let mut client = balancer.client();
    client.send("POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nbegin");
    let answer = client.read_answer();
    assert_eq!((answer.status(), answer.text().as_str()), (503, PAGE));
    assert_eq!(answer.field("connection").as_deref(), Some("close"));
    let mut old = balancer.client();
    old.send("GET /chunks HTTP/1.0\r\nHost: a\r\n\r\n");
    let text = String::from_utf8(old.read_to_end()).unwrap();
    assert!(text.contains(" 502 ") && text.ends_with(&format!("\r\n\r\n{PAGE}")), "{text}");
    let mut client = balancer.client();
    client.send("HEAD /whole HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.read_answer_head();
    assert_eq!((head.status(), head.field("content-length")), (503, Some(PAGE.len().to_string())));
}

#[test]
fn answers_of_servers_that_speak_http2_are_replaced() {
    let server = Nginx::prior_knowledge("a", "");
    let http2 = setup(server.address()).pool("http2 = \"only\"\n");
    let balancer = TestBalancer::start(&http2);
    let mut client = balancer.client();
    for _ in 0..3 {
        let answer = client.get("/missing");
        assert_eq!((answer.status(), answer.text().as_str()), (404, PAGE));
        assert_eq!(client.get("/").text(), "a\n");
    }
    let report = balancer.report_when_idle();
    assert_eq!(report.pools[0].servers[0].connects.total, 1, "streams of one connection");
}

#[test]
fn the_text_of_the_balancer_is_not_cached_whatever_a_rule_adds() {
    let server = ScriptedServer::start(answer_by_path);
    let rule = "[[service.shop.rule]]\ndeny = true\nrewrite = { response-add = [\
                { field = \"Cache-Control: max-age=9\", own = true }, { field = \"X-Own: 1\", own = true }] }\n";
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[server.address()]).with_tables(rule));
    let answer = balancer.client().get("/");
    assert_eq!(answer.status(), 403);
    assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
    assert_eq!(answer.field("x-own").as_deref(), Some("1"));
}
