//! Cookies that name their server in the open, and what of our own cookie reaches servers, browsers and caches.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;

/// A server that tells which cookies it got, and sets those that it is asked for in `x-set`.
fn application(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = vec![0; 16_384];
            let length = stream.read(&mut bytes).unwrap_or(0);
            let head = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let values = |field: &str| -> Vec<String> {
                let lines = head.lines().filter_map(|line| line.split_once(": "));
                let own = lines.filter(|(name, _)| name.eq_ignore_ascii_case(field));
                own.map(|(_, value)| value.to_owned()).collect()
            };
            let got = values("cookie").join(" | ");
            let set: String =
                values("x-set").iter().map(|one| format!("Set-Cookie: {one}\r\n")).collect();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nx-origin: {name}\r\nx-got: {got}\r\n{set}Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    at
}

fn start(sticky: &str) -> TestBalancer {
    start_with(sticky, "")
}

/// As `start`, with further tables.
fn start_with(sticky: &str, tables: &str) -> TestBalancer {
    let lines =
        format!("sticky = {{ by = \"cookie\", name = \"sid\"{sticky} }}\nhttp2 = \"always\"\n");
    let setup = BalancerConfig::http(&[])
        .service(&lines)
        .pool("balance = \"round-robin\"\n")
        .with_tables(tables)
        .server("a", application("a"), ", cookie-value = \"S.1\"")
        .server("b", application("b"), "")
        .server("c", application("c"), ", cookie-value = \"S.3\"");
    TestBalancer::start(&setup)
}

fn ask(balancer: &TestBalancer, more: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(balancer.front());
    client.send(format!("GET / HTTP/1.1\r\nHost: shop\r\n{more}\r\n"));
    client.read_answer()
}

/// The server, the cookies that it got, and the cookies that were set.
fn affinity_outcome(answer: &ReceivedMessage) -> (String, String, Vec<String>) {
    let field = |name: &str| answer.field(name).unwrap_or_default();
    let set = answer.fields.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    (field("x-origin"), field("x-got"), set.map(|(_, value)| value.clone()).collect())
}

#[test]
fn the_server_stands_in_front_of_the_applications_value_on_the_clients_side_alone() {
    let balancer = start(", cookie = \"prefix\", no-cache = true");
    let named = [("a", "S.1"), ("b", "b"), ("c", "S.3")];
    for (server, value) in named {
        for _ in 0..3 {
            let line = format!(
                "Cookie: x=1; sid={value}~abc~d; y=2\r\nx-set: sid=new; Path=/; Secure\r\nx-set: other=v~w\r\n"
            );
            let answer = ask(&balancer, &line);
            let (by, got, set) = affinity_outcome(&answer);
            assert_eq!((by.as_str(), got.as_str()), (server, "x=1; sid=abc~d; y=2"));
            let set: std::collections::BTreeSet<String> = set.into_iter().collect();
            let expected = [format!("sid={value}~new; Path=/; Secure"), "other=v~w".to_owned()];
            assert_eq!(set, expected.into_iter().collect());
            assert_eq!(answer.field("cache-control").as_deref(), Some("private"));
        }
    }
    // Quotes stay around the value, and what HAProxy has put before them is understood too.
    for line in ["sid=\"S.3~q\"", "sid=S.3~\"q\""] {
        let answer = ask(&balancer, &format!("Cookie: {line}\r\nx-set: sid=\"r\"\r\n"));
        let expected = ("c".to_owned(), "sid=\"q\"".to_owned(), vec!["sid=\"S.3~r\"".to_owned()]);
        assert_eq!(affinity_outcome(&answer), expected);
    }
    // Several of the name: each loses its server, and the first that is here counts.
    let lines = "Cookie: sid=gone~1; sid=S.1~2\r\nCookie: sid=b~3\r\n";
    let (by, got, set) = affinity_outcome(&ask(&balancer, lines));
    assert_eq!((by.as_str(), got.as_str()), ("a", "sid=1; sid=2 | sid=3"));
    assert!(set.is_empty(), "no server has set one: {set:?}");
    let answer = ask(&balancer, "Cookie: sid=plain\r\n");
    assert_eq!(affinity_outcome(&answer).1, "sid=plain");
    assert_eq!(answer.field("cache-control"), None);
    // Crumbs of HTTP/2.
    for (server, value) in named {
        let mut asked = H2Request::get("/");
        let crumbs = ["x=1".to_owned(), format!("sid={value}~abc"), "y=2".to_owned()];
        asked.fields = crumbs.into_iter().map(|crumb| ("cookie", crumb)).collect();
        asked.fields.push(("x-set", "sid=new".to_owned()));
        let answer = send_all(balancer.front(), &[asked]).remove(0);
        assert_eq!(answer.field("x-origin").as_deref(), Some(server));
        let got = answer.field("x-got").unwrap().replace(" | ", "; ");
        assert_eq!(got, "x=1; sid=abc; y=2");
        assert_eq!(answer.field("set-cookie"), Some(format!("sid={value}~new")));
    }
}

#[test]
fn a_rule_that_removes_set_cookie_removes_the_changed_one_too() {
    for mode in ["prefix", "rewrite"] {
        let rule = "[[service.shop.rule]]\nwhen = { path = \"/bare\" }\nrewrite = { response-remove = \"set-cookie\" }\n";
        let balancer = start_with(&format!(", cookie = \"{mode}\""), rule);
        let mut client = HttpClient::connect(balancer.front());
        client.send("GET /bare HTTP/1.1\r\nHost: shop\r\nx-set: sid=n\r\nx-set: other=v\r\n\r\n");
        let (_, _, set) = affinity_outcome(&client.read_answer());
        assert!(set.is_empty(), "{mode}: {set:?}");
        let (_, _, set) = affinity_outcome(&ask(&balancer, "x-set: sid=n\r\n"));
        assert_eq!(set.len(), 1, "{mode}: {set:?}");
    }
}

#[test]
fn a_server_that_is_gone_loses_its_client_and_its_name() {
    let balancer = start(", cookie = \"prefix\"");
    balancer.order_server("a", api::types::ServerAction::Disable);
    for value in ["S.1~v", "nobody~v", "~v"] {
        let (by, got, set) =
            affinity_outcome(&ask(&balancer, &format!("Cookie: sid={value}\r\nx-set: sid=n\r\n")));
        assert!(by != "a" && got == "sid=v", "{by} {got}");
        let named = if by == "b" { "b" } else { "S.3" };
        assert_eq!(set, [format!("sid={named}~n")]);
    }
    // A second cookie names one that takes the client.
    for _ in 0..3 {
        let (by, ..) = affinity_outcome(&ask(&balancer, "Cookie: sid=S.1~v; sid=S.3~w\r\n"));
        assert_eq!(by, "c");
    }
}

// Rows: I27
#[test]
fn a_value_of_the_applications_own_leads_to_its_server_and_is_left_alone() {
    let balancer = start(", cookie = \"passive\"");
    for (value, server) in
        [("S.1", "a"), ("b", "b"), ("\"S.3\"", "c"), ("S.3~abc", "c"), ("\"b~x\"", "b")]
    {
        for _ in 0..3 {
            let lines = format!("Cookie: x=1; sid={value}\r\nx-set: sid={value}; Path=/\r\n");
            let expected = (
                server.to_owned(),
                format!("x=1; sid={value}"),
                vec![format!("sid={value}; Path=/")],
            );
            assert_eq!(affinity_outcome(&ask(&balancer, &lines)), expected);
        }
    }
    let servers: std::collections::BTreeSet<String> =
        (0..6).map(|_| affinity_outcome(&ask(&balancer, "Cookie: sid=unknown\r\n")).0).collect();
    assert_eq!(servers.len(), 3, "a value of nobody is shared out");
}

#[test]
fn our_cookie_is_hidden_from_servers_and_kept_from_caches() {
    let balancer =
        start(", hide = true, no-cache = true, domain = \"shop.example\", same-site = \"omit\"");
    let first = ask(&balancer, "Cookie: x=1\r\nx-set: sid=theirs\r\nx-set: y=2\r\n");
    let (server, got, set) = affinity_outcome(&first);
    assert_eq!((got.as_str(), first.field("cache-control").as_deref()), ("x=1", Some("private")));
    assert_eq!(set.len(), 2, "{set:?}");
    let ours = set.iter().find(|line| line.starts_with("sid=")).unwrap();
    assert!(ours.ends_with("; Path=/; HttpOnly; Domain=shop.example"), "{ours}");
    let pair = ours.split(';').next().unwrap();
    for (lines, got) in [
        (format!("Cookie: {pair}\r\n"), ""),
        (format!("Cookie: x=1; {pair}; y=2\r\n"), "x=1; y=2"),
        (format!("Cookie: {pair}\r\nCookie: x=1\r\n"), "x=1"),
    ] {
        let answer = ask(&balancer, &(lines + "x-set: sid=theirs\r\n"));
        assert_eq!(affinity_outcome(&answer), (server.clone(), got.to_owned(), Vec::new()));
        assert_eq!(answer.field("cache-control"), None);
    }
    let mut asked = H2Request::get("/");
    asked.fields = vec![("cookie", "x=1".to_owned()), ("cookie", pair.to_owned())];
    let answer = send_all(balancer.front(), &[asked]).remove(0);
    assert_eq!(
        (answer.field("x-origin"), answer.field("x-got")),
        (Some(server), Some("x=1".into()))
    );
}
