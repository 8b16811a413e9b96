//! Protocols of turns: each has its name, its requests theirs, and the slow one is the server's.

use crate::capture::{ACK, analyse};
use crate::script::{ONE_WAY_MS, ScriptedConnection};

/// What both sides say, one after the other; the second request is the slow one.
struct SpokenCase {
    protocol: &'static str,
    greeting: Vec<u8>,
    requests: [(Vec<u8>, &'static str); 2],
    answer: &'static [u8],
}

fn cases() -> Vec<SpokenCase> {
    let mut hello = b"\x4a\0\0\0\x0a8.0.36\0".to_vec();
    hello.resize(0x4a + 4, 1);
    let mut start = b"\0\0\0\x1a\0\x03\0\0user\0app\0".to_vec();
    start.resize(26, 0);
    let query = |number: u8| {
        let head = [0, 29, 0, number, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        [&head[..], b"\x03www\x07example\0\0\x1c\0\x01"].concat()
    };
    vec![
        SpokenCase {
            protocol: "mysql",
            greeting: hello,
            requests: [
                (b"\x05\0\0\x01\x85\xa6\x03\0\0".to_vec(), "MySQL login"),
                (b"\x09\0\0\0\x03select 1".to_vec(), "MySQL Query SELECT"),
            ],
            answer: b"\x07\0\0\x02\0\0\0\x02\0\0\0",
        },
        SpokenCase {
            protocol: "postgresql",
            greeting: Vec::new(),
            requests: [
                (start, "PostgreSQL start"),
                (b"Q\0\0\0\x0dUPDATE t\0".to_vec(), "PostgreSQL Query UPDATE"),
            ],
            answer: b"R\0\0\0\x08\0\0\0\0",
        },
        SpokenCase {
            protocol: "redis",
            greeting: Vec::new(),
            requests: [
                (b"*1\r\n$4\r\nPING\r\n".to_vec(), "Redis PING"),
                (b"*2\r\n$4\r\nkeys\r\n$1\r\n*\r\n".to_vec(), "Redis KEYS"),
            ],
            answer: b"+PONG\r\n",
        },
        SpokenCase {
            protocol: "dns",
            greeting: Vec::new(),
            requests: [(query(1), "DNS AAAA www.example."), (query(2), "DNS AAAA www.example.")],
            answer: b"\0\x0c\0\x01\x81\x80\0\0\0\0\0\0\0\0",
        },
        SpokenCase {
            protocol: "smtp",
            greeting: b"220 mail.example ESMTP ready\r\n".to_vec(),
            requests: [
                (b"EHLO client.example\r\n".to_vec(), "SMTP EHLO"),
                (b"MAIL FROM:<a@client.example>\r\n".to_vec(), "SMTP MAIL"),
            ],
            answer: b"250 ok\r\n",
        },
    ]
}

#[test]
fn protocols_of_turns_have_names_and_their_slow_requests_too() {
    for case in cases() {
        let mut one = ScriptedConnection::open(1, 0);
        if !case.greeting.is_empty() {
            one.server(ACK, &case.greeting).client(ACK, b"");
        }
        for ((request, _), think_ms) in case.requests.iter().zip([5, 800]) {
            one.client(ACK, request).wait(2 * ONE_WAY_MS + think_ms);
            one.server(ACK, case.answer).client(ACK, b"");
        }
        one.close();
        let report = analyse(&one.packets);
        let connection = &report["connections"][0];
        assert_eq!(connection["protocol"], case.protocol, "{connection:#}");
        let titles: Vec<&str> = connection["transactions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|transaction| transaction["title"].as_str())
            .collect();
        for (_, title) in &case.requests {
            assert!(titles.contains(title), "{title} in {titles:?}");
        }
        let first = &connection["verdict"]["most_significant"];
        assert_eq!((&first["code"], &first["owner"]), (&"SERVER_THINK".into(), &"server".into()));
    }
}
