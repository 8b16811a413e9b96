//! Bidirectional bytes: `tcp` services, and upgraded connections.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr};

use lab::origin::{OriginKind, OriginOptions};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::{HttpClient, drain};
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage, noise};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::servers::{echo, origin, reserve_port_at, start_with};

const HANDSHAKE: &str = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[test]
fn a_websocket_is_echoed_and_closed_in_order() {
    let origin = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[origin.address()]));
    let mut client = balancer.client();
    client.send(format!("GET /ws HTTP/1.1\r\nHost: a\r\n{HANDSHAKE}\r\n"));
    let answer = client.read_answer();
    assert_eq!(answer.status(), 101);
    assert_eq!(answer.field("sec-websocket-accept").unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(answer.field("upgrade").as_deref(), Some("websocket"));
    for text in [&b"hi"[..], b"there", &[b'x'; 100]] {
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend_from_slice(text);
        client.send(frame);
        assert_eq!(&client.read_exactly(2 + text.len())[2..], text);
    }
    client.send([0x88, 0x80, 0, 0, 0, 0]);
    assert_eq!(client.read_to_end(), [0x88, 0]);
    drop(client);
    let requests = balancer.report_when_settled().total.requests;
    assert_eq!((requests.upgraded.total, requests.unaccounted), (1, 0), "{requests:?}");
}

#[test]
fn an_upgraded_connection_ends_one_direction_at_a_time() {
    let server = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        let request = reader.head().unwrap().unwrap();
        assert_eq!(request.field("upgrade").as_deref(), Some("bytes"));
        let answer =
            b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\nfirst,";
        (&stream).write_all(answer).unwrap();
        let got = reader.read_to_end().unwrap().len();
        (&stream).write_all(format!("after {got} bytes").as_bytes()).unwrap();
    });
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: bytes\r\n\r\n");
    assert_eq!(client.read_answer().status(), 101);
    client.send(noise(1_000_000)).shut_down_write();
    assert_eq!(client.read_to_end(), b"first,after 1000000 bytes");
}

#[test]
fn a_switch_to_another_protocol_than_the_client_asked_for_is_refused() {
    let server = ScriptedServer::answering(
        b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\nbytes",
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    client.send(format!("GET /ws HTTP/1.1\r\nHost: a\r\n{HANDSHAKE}\r\n"));
    assert_eq!(client.read_answer().status(), 502);
}

#[test]
fn a_client_that_must_upgrade_learns_to_what() {
    let server = ScriptedServer::answering(
        b"HTTP/1.1 426 Upgrade Required\r\nConnection: upgrade\r\nUpgrade: HTTP/3.0\r\nContent-Length: 0\r\n\r\n",
    );
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let answer = balancer.client().get("/");
    assert_eq!((answer.status(), answer.field("upgrade").as_deref()), (426, Some("HTTP/3.0")));
}

#[test]
fn a_server_that_refuses_to_upgrade_answers_as_usual() {
    let server = ScriptedServer::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = balancer.client();
    client.send(format!("GET /ws HTTP/1.1\r\nHost: a\r\n{HANDSHAKE}\r\n"));
    assert_eq!(client.read_answer().text(), "no");
    assert_eq!(client.get("/").text(), "no");
}

/// The two ways to send the body of an upgrade request, as Docker clients and others do.
const BODIES: [&str; 2] = [
    "Content-Length: 16\r\n\r\n{\"Detach\":false}",
    "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"Deta\r\na\r\nch\":false}\r\n0\r\n\r\n",
];

/// The body of a request whose head was read, as text.
fn body_of(reader: &mut HttpReader<&std::net::TcpStream>, mut head: ReceivedMessage) -> String {
    reader.body(&mut head, ExpectedBody::AsDeclared).unwrap();
    head.text()
}

#[test]
fn an_upgrade_with_a_body_switches_once_the_server_has_it() {
    for body in BODIES {
        // Responds as Docker does to POST /exec/ID/start.
        let server = ScriptedServer::start(|stream| {
            let mut reader = HttpReader::new(&stream);
            let request = reader.head().unwrap().unwrap();
            assert_eq!(request.field("upgrade").as_deref(), Some("tcp"));
            assert_eq!(body_of(&mut reader, request), "{\"Detach\":false}");
            let answer =
                "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello, ";
            (&stream).write_all(answer.as_bytes()).unwrap();
            let got = reader.read_to_end().unwrap();
            (&stream).write_all(&got).unwrap();
        });
        let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
        let head =
            "POST /exec/1/start HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n";
        // In one segment, and with the last byte of the body in a separate one.
        for cut in [body.len(), body.len() - 1] {
            let mut client = balancer.client();
            client.send(format!("{head}{}", &body[..cut]));
            if cut < body.len() {
                balancer.report_when("it is under way", |r| r.total.requests.in_flight == 1);
                client.send(&body[cut..]);
            }
            assert_eq!(client.read_answer().status(), 101, "{body}");
            client.send("typed").shut_down_write();
            assert_eq!(client.read_to_end(), b"hello, typed", "{body}");
        }
        assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
    }
}

#[test]
fn a_server_that_switches_before_it_has_the_body_gets_it_first() {
    for body in BODIES {
        let server = ScriptedServer::start(|stream| {
            let mut reader = HttpReader::new(&stream);
            let request = reader.head().unwrap().unwrap();
            let answer =
                "HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nearly, ";
            (&stream).write_all(answer.as_bytes()).unwrap();
            let body = body_of(&mut reader, request);
            let got = reader.read_to_end().unwrap();
            (&stream).write_all(&[body.as_bytes(), &got].concat()).unwrap();
        });
        let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
        let mut client = balancer.client();
        let (first, last) = body.split_at(body.len() - 1);
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n{first}"
        ));
        assert_eq!(client.read_answer().status(), 101, "{body}");
        client.send(format!("{last}typed")).shut_down_write();
        assert_eq!(client.read_to_end(), b"early, {\"Detach\":false}typed", "{body}");
    }
}

#[test]
fn a_server_that_refuses_an_upgrade_with_a_body_answers_as_usual() {
    for (body, status) in BODIES.into_iter().zip([200, 409]) {
        let server = refusing(status);
        let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
        let mut client = balancer.client();
        for _ in 0..2 {
            client.send(format!(
                "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n{body}"
            ));
            let answer = client.read_answer();
            assert_eq!((answer.status(), answer.text().as_str()), (status, "no"), "{body}");
        }
    }
}

/// Reads each request completely, and responds with this status.
fn refusing(status: u16) -> ScriptedServer {
    ScriptedServer::start(move |stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(head)) = reader.head() {
            body_of(&mut reader, head);
            let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 2\r\n\r\nno");
            (&stream).write_all(answer.as_bytes()).unwrap();
        }
    })
}

#[test]
fn what_comes_behind_the_body_of_an_upgrade_is_no_request_and_no_other_protocol() {
    let server = ScriptedServer::start(|stream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(head)) = reader.head() {
            body_of(&mut reader, head);
        }
    });
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    for early in ["GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n", "typed"] {
        let mut client = balancer.client();
        let body = BODIES[1];
        client.send(format!(
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n{body}{early}"
        ));
        assert_eq!(client.read_answer().status(), 400, "{early}");
        balancer.wait_for_log_line("named", |line| line["defect"] == "early-upgrade-data");
        assert!(client.read_to_end().is_empty(), "{early}");
    }
}

#[test]
fn tcp_carries_bytes_and_ends_the_clients_direction_first() {
    let server = ScriptedServer::start(|mut stream| {
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        stream.write_all(&got).unwrap();
    });
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]));
    let mut client = balancer.client();
    client.send("all of it").shut_down_write();
    assert_eq!(client.read_to_end(), b"all of it");
    let line = balancer.wait_for_log_line("the connection", |line| line["protocol"] == "TCP");
    assert_eq!((&line["server"], &line["bytes-to-client"]), (&"web/a".into(), &9.into()), "{line}");
    assert_eq!(balancer.report_when_settled().total.requests.answered.total, 1);
}

#[test]
fn tcp_ends_the_servers_direction_first() {
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let server = ScriptedServer::start(move |mut stream| {
        stream.write_all(b"greeting").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        tell.send(got).unwrap();
    });
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]));
    let mut client = balancer.client();
    assert_eq!(client.read_to_end(), b"greeting");
    client.send("said after the server's end").shut_down_write();
    assert_eq!(told.recv().unwrap(), b"said after the server's end");
}

#[test]
fn tcp_moves_much_within_the_kernel_and_unchanged() {
    let server = echo("e");
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]));
    let mut client = balancer.client();
    let bytes = noise(48 << 20);
    let mut writer = client.stream().try_clone().unwrap();
    let sent = bytes.clone();
    let sender = std::thread::spawn(move || {
        writer.write_all(&sent).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    assert!(client.read_to_end() == bytes, "the bytes differ");
    sender.join().unwrap();
    let moved = balancer.report_when_settled().total.bytes;
    let length = bytes.len() as u64;
    assert_eq!((moved.received.total, moved.sent.total), (length, length));
    assert!(moved.spliced.total > length, "{moved:?}");
}

#[test]
fn many_tcp_connections_at_a_time_over_ipv6() {
    let mut options = OriginOptions::new("e", OriginKind::Echo);
    options.listen = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 0);
    let server = start_with(options);
    let setup = BalancerConfig::tcp(&[server.address()]);
    let setup = setup.listen(vec![reserve_port_at(Ipv6Addr::LOCALHOST.into())]);
    let balancer = TestBalancer::start(&setup);
    let mut clients: Vec<HttpClient> = (0..100).map(|_| balancer.client()).collect();
    for (at, client) in clients.iter_mut().enumerate() {
        client.send(noise(100 + at));
    }
    for (at, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.read_exactly(100 + at), noise(100 + at));
    }
    assert_eq!(balancer.report().total.requests.in_flight, 100);
    drop(clients);
    assert_eq!(balancer.report_when_settled().total.requests.answered.total, 100);
}

#[test]
fn a_server_that_resets_resets_the_client() {
    let server = origin("a");
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[server.address()]));
    let client = balancer.client();
    client.send("GET /bytes/9000000000 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.stream().peek(&mut [0]).unwrap();
    server.kill().unwrap();
    assert!(drain(client.stream()).is_err(), "a cut must not look like an end");
    let report = balancer.report_when_settled();
    let causes = &report.total.causes;
    assert!(causes.iter().any(|c| c.cause == "server-reset" && c.count.total == 1), "{causes:?}");
}
