//! Sticky sessions: by the balancer's cookie, by a learned cookie or by a field, and the loss of a server.

use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;

use api::types::ServerAction;
use model::affinity::cookie::{AffinitySecrets, CookieKeyAge, TOKEN_LEN};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

fn ask(front: SocketAddr, more: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(front);
    client.send(format!("GET / HTTP/1.1\r\nHost: shop\r\n{more}\r\n"));
    client.read_answer()
}

fn by(answer: &ReceivedMessage) -> String {
    answer.field("x-origin").unwrap_or_default()
}

/// `NAME=VALUE` of the cookie that a response sets.
fn cookie(answer: &ReceivedMessage) -> Option<String> {
    answer.field("set-cookie").map(|line| line.split(';').next().unwrap().to_owned())
}

// Rows: I08, I27
#[test]
fn our_cookie_keeps_a_client_and_names_nobody() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"cookie\", name = \"SRV\", drain = \"1h\" }")
        .pool("balance = \"round-robin\"");
    let mut balancer = TestBalancer::start(&setup);
    let first = ask(balancer.front(), "");
    let server = by(&first);
    let line = first.field("set-cookie").unwrap();
    assert!(line.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{line}");
    assert!(!line.contains("127.0.0.1") && line.len() < 80, "{line}");
    let kept = cookie(&first).unwrap();
    let with = format!("Cookie: other=1; {kept}\r\n");
    for _ in 0..12 {
        let again = ask(balancer.front(), &with);
        assert_eq!((by(&again), cookie(&again)), (server.clone(), None));
    }
    let others: std::collections::BTreeSet<String> =
        (0..12).map(|_| by(&ask(balancer.front(), ""))).collect();
    assert_eq!(others.len(), 3, "new clients are shared out");
    // Sticky clients stay across an unrelated reload, and while their server drains.
    balancer.reload(&setup.clone().global("drain = \"20s\""));
    balancer.order_server(&server, ServerAction::Drain);
    assert_eq!(by(&ask(balancer.front(), &with)), server);
    let fresh: Vec<String> = (0..6).map(|_| by(&ask(balancer.front(), ""))).collect();
    assert!(!fresh.contains(&server), "{fresh:?}");
    // If the server is disabled, the client gets another server permanently, and a new cookie.
    balancer.order_server(&server, ServerAction::Disable);
    let moved = ask(balancer.front(), &with);
    assert_ne!(by(&moved), server);
    let with = format!("Cookie: {}\r\n", cookie(&moved).unwrap());
    assert_eq!(by(&ask(balancer.front(), &with)), by(&moved));
    let made_up = ask(balancer.front(), "Cookie: SRV=AAAAAAAAAAAAAAAAAAAAAA\r\n");
    assert_eq!(made_up.status(), 200);
}

#[test]
fn each_pool_keeps_its_client_by_a_word_of_its_own_in_one_cookie() {
    let pages = [origin("a"), origin("b")];
    let images = [origin("c"), origin("d")];
    let servers: Vec<String> =
        addresses(&images).iter().map(|address| format!("\"{address}\"")).collect();
    let rule = "rule = [{ name = \"images\", when = { path = \"/bytes/*\" }, pool = \"images\" }]";
    let setup = BalancerConfig::http(&addresses(&pages))
        .service(&format!("sticky = {{ by = \"cookie\", name = \"SRV\" }}\n{rule}"))
        .pool("balance = \"round-robin\"")
        .with_tables(&format!(
            "[pool.images]\nservers = [{}]\nbalance = \"round-robin\"",
            servers.join(", ")
        ));
    let balancer = TestBalancer::start(&setup);
    let mut client = HttpClient::connect(balancer.front());
    let mut jar = String::new();
    let mut set = 0;
    let mut browse = |path: &str| {
        client.send(format!("GET {path} HTTP/1.1\r\nHost: shop\r\nCookie: {jar}\r\n\r\n"));
        let answer = client.read_answer();
        if let Some(line) = cookie(&answer) {
            jar = line;
            set += 1;
        }
        by(&answer)
    };
    let first = [browse("/"), browse("/bytes/9")];
    for _ in 0..6 {
        assert_eq!([browse("/"), browse("/bytes/9")], first);
    }
    assert_eq!(set, 2, "one for each pool, and never again");
    assert_eq!(jar.len(), "SRV=".len() + 2 * TOKEN_LEN + 1, "{jar}");
}

#[test]
fn the_first_answer_after_a_server_died_has_another_cookie() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"cookie\", name = \"SRV\" }")
        .pool("balance = \"round-robin\"");
    let balancer = TestBalancer::start(&setup);
    let first = ask(balancer.front(), "");
    let with = format!("Cookie: {}\r\n", cookie(&first).unwrap());
    let dead = by(&first);
    let [a, b] = origins;
    // The other server keeps running.
    let (gone, _lives) = if dead == "a" { (a, b) } else { (b, a) };
    drop(gone);
    let moved = ask(balancer.front(), &with);
    assert_eq!((moved.status(), by(&moved) != dead), (200, true));
    let with = format!("Cookie: {}\r\n", cookie(&moved).unwrap());
    let again = ask(balancer.front(), &with);
    assert_eq!((by(&again), cookie(&again)), (by(&moved), None));
}

#[test]
fn members_with_one_secret_understand_each_others_cookies_and_others_do_not() {
    let origins = [origin("a"), origin("b"), origin("c"), origin("d")];
    let dir = TestDir::new();
    let file = dir.join("sticky.secret");
    let write = |text: &str| {
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    };
    let setup = |global: &str| {
        BalancerConfig::http(&addresses(&origins))
            .service("sticky = { by = \"cookie\", name = \"SRV\" }")
            .pool("balance = \"round-robin\"")
            .global(global)
    };
    let old = "o".repeat(32);
    let new = "n".repeat(32);
    write(&old);
    let shared = || setup(&format!("sticky-secret-file = {file:?}"));
    let members = [TestBalancer::start(&shared()), TestBalancer::start(&shared())];
    let alone = TestBalancer::start(&setup(""));
    let own = alone.dir().join("state/cookie.secret");
    assert_eq!(std::fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o600);
    let cookies: Vec<(String, String)> = (0..4)
        .map(|_| ask(members[0].front(), ""))
        .map(|answer| (by(&answer), cookie(&answer).unwrap()))
        .collect();
    let with = |kept: &str| format!("Cookie: {kept}\r\n");
    for (server, kept) in &cookies {
        let answer = ask(members[1].front(), &with(kept));
        assert_eq!((&by(&answer), cookie(&answer)), (server, None));
        assert!(cookie(&ask(alone.front(), &with(kept))).is_some_and(|own| own != *kept));
    }
    // After a rotation with the old secret second, clients keep their servers and get new cookies.
    write(&format!("{new}\n{old}\n"));
    wait::until("the file is active", || members[1].count_events("sticky-secret-renewed") == 1);
    let (server, kept) = &cookies[0];
    let renewed = wait::until_some("another cookie", || {
        let answer = ask(members[1].front(), &with(kept));
        assert_eq!(by(&answer), *server);
        cookie(&answer)
    });
    assert_ne!(renewed, *kept);
    let answer = ask(members[1].front(), &with(&renewed));
    assert_eq!((&by(&answer), cookie(&answer)), (server, None));
}

#[test]
fn a_cookie_without_a_secret_is_understood_replaced_and_counted() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"cookie\", name = \"SRV\" }")
        .pool("balance = \"round-robin\"");
    let balancer = TestBalancer::start(&setup);
    for name in ["a", "b", "c"] {
        let secrets = AffinitySecrets::default();
        let (old, made) = secrets.tokens("web", name).last().unwrap();
        assert_eq!(made, CookieKeyAge::Unkeyed);
        let old = format!("SRV={}", String::from_utf8_lossy(&old));
        let answer = ask(balancer.front(), &format!("Cookie: {old}\r\n"));
        assert_eq!(by(&answer), name);
        assert!(cookie(&answer).is_some_and(|new| new != old && new.len() == old.len()));
    }
    let metrics = balancer.metrics();
    let mut lines = metrics.lines();
    assert!(lines.any(|line| {
        line.starts_with("steelyard_service_sticky_unkeyed_total{") && line.ends_with(" 3")
    }));
}

// Rows: I26, C11
#[test]
fn a_field_keeps_a_client_over_services_and_what_is_remembered_is_counted() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let sticky =
        "sticky = { by = \"header\", name = \"x-user\", expire = \"1h\", group = \"users\" }";
    let other = tests::e2e::servers::reserve_port();
    let servers: Vec<String> = addresses(&origins)
        .iter()
        .zip(["a", "b", "c"])
        .map(|(at, name)| format!("{{ name = \"{name}\", address = \"{at}\" }}"))
        .collect();
    let more = format!(
        "[service.second]\nlisten = \"{}\"\nforward = \"http\"\npool = \"same\"\n{sticky}\n\
         [pool.same]\nservers = [{}]\nbalance = \"random\"\n",
        other.address(),
        servers.join(", ")
    );
    let setup = BalancerConfig::http(&addresses(&origins))
        .service(sticky)
        .pool("balance = \"random\"")
        .with_tables(&more);
    let balancer = TestBalancer::start(&setup);
    for user in 0..20 {
        let field = format!("x-user: u{user}\r\n");
        let first = by(&ask(balancer.front(), &field));
        for front in [balancer.front(), other.address(), balancer.front()] {
            assert_eq!(by(&ask(front, &field)), first, "u{user}");
        }
    }
    let report = balancer.report();
    let shop = report.services.iter().find(|service| service.name == "shop").unwrap();
    let affinity = shop.affinity.unwrap();
    assert_eq!(
        (affinity.entries, affinity.assignments, affinity.evicted, affinity.hits),
        (20, 20, 0, 60)
    );
}

#[test]
fn when_its_server_is_gone_a_client_gets_what_was_set() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).service(
        "sticky = { by = \"header\", name = \"x-user\", expire = \"1h\", when-down = \"refuse\" }",
    );
    let balancer = TestBalancer::start(&setup);
    let server = by(&ask(balancer.front(), "x-user: one\r\n"));
    balancer.order_server(&server, ServerAction::Disable);
    let refused = ask(balancer.front(), "x-user: one\r\n");
    assert_eq!(
        (refused.status(), refused.field("x-steelyard-cause").as_deref()),
        (503, Some("no-server"))
    );
    assert_eq!(ask(balancer.front(), "x-user: two\r\n").status(), 200);
    balancer.order_server(&server, ServerAction::Enable);
    assert_eq!(by(&ask(balancer.front(), "x-user: one\r\n")), server);
}

/// A server whose responses set an application cookie.
fn application(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes);
            let _ = stream.write_all(
                format!(
                    "HTTP/1.1 200 OK\r\nx-origin: {name}\r\nSet-Cookie: sid=session-of-{name}; Path=/\r\n\
                     Content-Length: 0\r\nConnection: close\r\n\r\n"
                )
                .as_bytes(),
            );
        }
    });
    at
}

// Rows: C11
#[test]
fn a_cookie_of_the_application_is_learned_or_rewritten() {
    let servers = [application("a"), application("b"), application("c")];
    for (mode, time) in [("learn", ", expire = \"1h\""), ("rewrite", "")] {
        let sticky =
            format!("sticky = {{ by = \"cookie\", name = \"sid\", cookie = \"{mode}\"{time} }}");
        let balancer = TestBalancer::start(
            &BalancerConfig::http(&servers).service(&sticky).pool("balance = \"random\""),
        );
        let first = ask(balancer.front(), "");
        let server = by(&first);
        let value = cookie(&first).unwrap();
        assert_eq!(value == format!("sid=session-of-{server}"), mode == "learn", "{value}");
        assert!(first.field("set-cookie").unwrap().ends_with("; Path=/"));
        for _ in 0..10 {
            assert_eq!(
                by(&ask(balancer.front(), &format!("Cookie: {value}\r\n"))),
                server,
                "{mode}"
            );
        }
    }
}
