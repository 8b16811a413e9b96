//! Hostile clients: misplaced frames, oversized heads, cancelled requests, and random packets.

use std::net::UdpSocket;

use api::types::RefusedRequest;
use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::http::noise;
use tests::e2e::servers::{self, addresses};
use tests::e2e::wait;

use crate::authority::Http3Authority;

#[test]
fn broken_frames_end_the_connection_by_name() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    // The kind of stream, the bytes, whether they end the stream, and the expected error code.
    type Row = (&'static str, &'static [u8], bool, u64);
    let rows: [Row; 10] = [
        ("both", &[0, 1, b'x'], false, 0x105),
        ("both", &[4, 0], false, 0x105),
        ("both", &[1, 3, 0, 0, 0x80], false, 0x200),
        ("both", &[1, 9, 0], true, 0x106),
        ("one", &[1, 0], false, 0x103),
        ("one", &[0, 4, 0], false, 0x103),
        ("one", &[2, 0x3f, 0xff], false, 0x201),
        ("one", &[3, 0x80], false, 0x202),
        ("one", &[3, 0x01], false, 0x202),
        ("both", &[1, 3, 0, 0, 0xff], false, 0x200),
    ];
    let mut broken = 0;
    for (way, bytes, end, code) in rows {
        let mut client = ours.client(balancer.front());
        client.raw(way, bytes, end);
        assert_eq!(client.ended(), code, "{bytes:?}");
        broken += 1;
    }
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200);
    balancer.report_when("counted", |report| {
        let mut defects = report.total.defects.iter();
        defects.any(|one| one.name == "http3-protocol" && one.count.total == broken)
    });
    wait::until("they are kept", || {
        let kept = balancer.refused().requests;
        let named = |one: &&RefusedRequest| one.defect.as_deref() == Some("http3-protocol");
        kept.iter().filter(named).filter(|one| one.protocol == "HTTP/3").count() as u64 == broken
    });
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn heads_beyond_their_limits_are_refused_alone() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let limit = "limit = { header-bytes = \"4KiB\", target-bytes = \"2KiB\" }\n";
    let lines = format!("tls = {:?}\nhttp3 = \"on\"\n{limit}", ours.pair);
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(&lines));
    let mut client = ours.client(balancer.front());
    // A HEADERS frame with a length of one gibibyte and no content.
    let stream = client.raw("both", &[1, 0xc0, 0, 0, 0, 0x40, 0, 0, 0], false);
    let answer = client.does(json!({ "do": "wait-answer", "stream": stream }));
    assert_eq!(answer["status"], 431, "{answer}");
    // A small block that expands to a large head: one field of the table, repeated.
    let mut bomb = vec![1, 0x43, 0xea, 0, 0];
    bomb.extend([0xf9; 1_000]);
    let stream = client.raw("both", &bomb, true);
    let answer = client.does(json!({ "do": "wait-answer", "stream": stream }));
    assert_eq!(answer["status"], 431, "{answer}");
    assert_eq!(client.get("/")["status"], 200, "the connection goes on");
}

#[test]
fn requests_taken_back_end_the_connection_at_their_limit() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ", resets = 50"));
    let mut client = ours.client(balancer.front());
    client.does(json!({ "do": "cancel", "path": "/bytes/1000000", "times": 200 }));
    assert_eq!(client.ended(), 0x107);
    balancer.wait_for_log_line("named", |line| {
        line["cause"] == "http3-flood" && line["defect"] == "rapid-reset"
    });
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn a_client_that_acknowledges_nothing_learns_that_its_connection_was_closed() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    client.does(json!({ "do": "mute" }));
    let stream = client.does(json!({ "do": "start", "path": "/bytes/1000000" }));
    // The congestion window is full, and the rest of the response waits.
    client.does(json!({ "do": "came", "stream": stream, "count": 4_000 }));
    client.raw("one", &[0, 4, 0], false);
    assert_eq!(client.ended(), 0x103);
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}

#[test]
fn packets_of_noise_are_answered_with_little() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(balancer.front()).unwrap();
    let bytes = noise(200_000);
    let mut sent = 0;
    for (at, piece) in bytes.chunks(1_200).enumerate() {
        let mut packet = piece.to_vec();
        // Every fourth packet resembles a QUIC Initial packet.
        if at % 4 == 0 && packet.len() > 20 {
            packet[..6].copy_from_slice(&[0xc3, 0, 0, 0, 1, 8]);
            packet[14] = 0;
            packet[15] = 0;
            packet[16] = 0x44;
        }
        sent += socket.send(&packet).unwrap();
    }
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200, "it serves on");
    socket.set_nonblocking(true).unwrap();
    let mut came = 0;
    let mut buffer = [0; 2_000];
    while let Ok(n) = socket.recv(&mut buffer) {
        came += n;
    }
    assert!(came <= sent, "{came} bytes were sent for {sent}");
}

#[test]
fn other_versions_are_answered_whatever_the_length_of_their_ids() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(balancer.front()).unwrap();
    socket.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    for length in [8, 20, 21, 255] {
        let mut packet = vec![0xc0, 0x1a, 0x2a, 0x3a, 0x4a, length];
        packet.resize(6 + usize::from(length), 7);
        packet.push(4);
        packet.resize(1_200, 9);
        socket.send(&packet).unwrap();
        let mut answer = [0; 2_000];
        let came = socket.recv(&mut answer).unwrap();
        let ids = [&[4, 9, 9, 9, 9, length][..], &vec![7; length.into()]].concat();
        assert!(answer[1..5] == [0; 4] && answer[5..came].starts_with(&ids), "{length}");
        assert!(answer[5 + ids.len()..came].chunks(4).any(|version| version == [0, 0, 0, 1]));
    }
}
