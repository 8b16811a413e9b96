//! Header fields: those that inform the server about the client, those that inform the client about the balancer, and
//! hop-by-hop fields.

use std::net::{Ipv6Addr, SocketAddr};

use lab::origin::{OriginKind, OriginOptions};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::{RecordingServer, ScriptedServer};
use tests::e2e::servers::{origin, reserve_port, reserve_port_at, start_with};

/// The request that the server received for these fields, and the response.
fn passed(service: &str, fields: &str) -> (ReceivedMessage, ReceivedMessage) {
    let recorder = RecordingServer::start();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[recorder.address()]).service(service));
    let mut client = balancer.client();
    client.send(format!("GET /x?y=1 HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n"));
    let answer = client.read_answer();
    drop((client, balancer));
    (recorder.take().requests.remove(0), answer)
}

/// Trusts the test's clients as proxies in front of the balancer.
const TRUSTED: &str = "trust = [\"127.0.0.0/8\"]\n";

#[test]
fn by_default_no_client_is_believed_about_earlier_hops() {
    let fields = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\
                  X-Forwarded-Host: evil.example\r\nX-Forwarded-Port: 1\r\n\
                  Forwarded: for=192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nVia: 1.0 edge\r\n";
    for service in
        ["", "forwarded = { x-forwarded = \"keep\" }", "trust = [\"10.0.0.0/8\", \"::/0\"]"]
    {
        let (got, _) = passed(service, fields);
        assert_eq!(got.field("x-forwarded-for").as_deref(), Some("127.0.0.1"), "{service}");
        assert_eq!(got.field("x-forwarded-proto").as_deref(), Some("http"), "{service}");
        assert_eq!(got.field("x-real-ip").as_deref(), Some("127.0.0.1"), "{service}");
        assert_eq!(
            got.field("forwarded").as_deref(),
            Some("for=127.0.0.1;proto=http"),
            "{service}"
        );
        assert_eq!((got.field("x-forwarded-host"), got.field("x-forwarded-port")), (None, None));
        assert_eq!(got.field("via").as_deref(), Some("1.0 edge, 1.1 steelyard"));
    }
    let (got, _) = passed("", "X-Other: 1\r\n");
    assert_eq!((got.field("x-real-ip"), got.field("forwarded")), (None, None), "none came");
}

#[test]
fn a_rule_that_asks_for_the_scheme_sees_ours() {
    let rule = "rule = [{ when = { header = \"x-forwarded-proto: http\" }, answer = 418 }]\n";
    for (trust, status) in [("", 418), (TRUSTED, 200)] {
        let recorder = RecordingServer::start();
        let setup = BalancerConfig::http(&[recorder.address()]).service(&format!("{trust}{rule}"));
        let balancer = TestBalancer::start(&setup);
        let mut client = balancer.client();
        client.send("GET / HTTP/1.1\r\nHost: shop.example\r\nX-Forwarded-Proto: https\r\n\r\n");
        assert_eq!(client.read_answer().status(), status, "{trust}");
    }
}

#[test]
fn a_trusted_proxy_is_named_and_what_came_is_kept() {
    let fields = "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\nVia: 1.0 edge\r\n\
                  X-Real-IP: 192.0.2.1\r\n";
    let (got, answer) = passed(TRUSTED, fields);
    assert_eq!(got.field("x-real-ip").as_deref(), Some("192.0.2.1"));
    assert_eq!(got.start, "GET /x?y=1 HTTP/1.1");
    assert_eq!(got.field("host").as_deref(), Some("shop.example"));
    assert_eq!(got.field("x-forwarded-for").as_deref(), Some("192.0.2.1, 127.0.0.1"));
    assert_eq!(got.field("x-forwarded-proto").as_deref(), Some("http"));
    assert_eq!(got.field("forwarded").as_deref(), Some("for=192.0.2.1"));
    assert_eq!(got.field("via").as_deref(), Some("1.0 edge, 1.1 steelyard"));
    assert_eq!(answer.field("via").as_deref(), Some("1.1 steelyard"));
}

#[test]
fn each_treatment_does_what_it_says() {
    let came = "X-Forwarded-For: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n";
    let rows = [
        ("keep", Some("192.0.2.1"), Some("for=192.0.2.1")),
        ("append", Some("192.0.2.1, 127.0.0.1"), None),
        ("replace", Some("127.0.0.1"), None),
        ("remove", None, None),
    ];
    for (treatment, x_forwarded_for, forwarded) in rows {
        let service = format!(
            "{TRUSTED}forwarded = {{ x-forwarded = \"{treatment}\", forwarded = \"{treatment}\", via = false }}"
        );
        let (got, answer) = passed(&service, came);
        assert_eq!(got.field("x-forwarded-for").as_deref(), x_forwarded_for, "{treatment}");
        let said = got.field("forwarded");
        match treatment {
            "append" | "replace" => {
                let said = said.unwrap();
                assert_eq!(said.starts_with("for=192.0.2.1, "), treatment == "append", "{said}");
                assert!(said.contains("for=127.0.0.1") && said.contains("proto=http"), "{said}");
            }
            _ => assert_eq!(said.as_deref(), forwarded, "{treatment}"),
        }
        assert_eq!((got.field("via"), answer.field("via")), (None, None));
    }
}

#[test]
fn what_is_for_one_hop_goes_no_further() {
    let fields = "Connection: keep-alive, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=5\r\n\
                  TE: gzip\r\nProxy-Connection: keep-alive\r\nX-Public: 2\r\n";
    let (got, _) = passed("", fields);
    for name in ["connection", "x-private", "keep-alive", "te", "proxy-connection"] {
        assert_eq!(got.field(name), None, "{name}");
    }
    assert_eq!(got.field("x-public").as_deref(), Some("2"));
    let server = ScriptedServer::answering(
        b"HTTP/1.1 200 OK\r\nConnection: X-Own, close\r\nX-Own: 1\r\nKeep-Alive: timeout=9\r\n\
          X-Public: 2\r\nContent-Length: 2\r\n\r\nok",
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    let answer = client.get("/");
    assert_eq!((answer.field("x-own"), answer.field("keep-alive")), (None, None));
    assert_eq!(answer.field("x-public").as_deref(), Some("2"));
    assert_eq!(client.get("/").status(), 200, "that the server closes is its own matter");
}

#[test]
fn both_families_and_many_listeners_lead_to_servers_of_both() {
    let mut options = OriginOptions::new("six", OriginKind::Http { body: 1 });
    options.listen = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0);
    let six = start_with(options);
    let four = origin("four");
    let ports: Vec<_> =
        (0..20)
            .map(|at| {
                if at % 2 == 0 {
                    reserve_port()
                } else {
                    reserve_port_at(Ipv6Addr::LOCALHOST.into())
                }
            })
            .collect();
    let setup = BalancerConfig::http(&[six.address(), four.address()]).listen(ports);
    let balancer = TestBalancer::start(&setup.clone().pool("balance = \"round-robin\""));
    let mut answered = std::collections::BTreeSet::new();
    for front in setup.fronts() {
        let mut client = HttpClient::connect(front);
        for _ in 0..4 {
            answered.insert((front.is_ipv6(), client.get("/").field("x-origin").unwrap()));
        }
    }
    assert_eq!(answered.len(), 4, "{answered:?}");
    assert_eq!(balancer.status().services[0].listen.len(), 20);
}

#[test]
fn a_client_of_ipv6_is_named_as_the_rfc_says() {
    let recorder = RecordingServer::start();
    let setup = BalancerConfig::http(&[recorder.address()]);
    let setup = setup.listen(vec![reserve_port_at(Ipv6Addr::LOCALHOST.into())]);
    let balancer = TestBalancer::start(&setup.service("forwarded = { forwarded = \"append\" }"));
    balancer.client().get("/");
    drop(balancer);
    let got = recorder.take().requests.remove(0);
    assert_eq!(got.field("x-forwarded-for").as_deref(), Some("::1"));
    assert!(got.field("forwarded").unwrap().contains("for=\"[::1]\""), "{got:?}");
}
