//! Attacks over HTTP/2: each reaches its limit, which is named in the log and counted. Other connections are not
//! affected.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, Http2Frame, WHOLE, head, kind};
use tests::e2e::servers::{self, addresses};

const CALM: u32 = 11;

struct AttackedBalancer {
    balancer: TestBalancer,
    _origin: [lab::origin::TestOrigin; 1],
}

impl AttackedBalancer {
    fn new(http2: &str) -> AttackedBalancer {
        let origin = [servers::origin("a")];
        let lines =
            format!("http2 = {{ offer = \"always\", {http2} }}\ntimeout = {{ header = \"1s\" }}\n");
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&addresses(&origin)).service(&lines));
        AttackedBalancer { balancer, _origin: origin }
    }

    /// Checks that the attack ended at this limit, that the limit was logged and counted once, and that the next client
    /// is served.
    fn ended(&self, last: &[Http2Frame], limit: &str, counter: &str) {
        let goaway = last.iter().rfind(|frame| frame.kind == kind::GOAWAY);
        assert_eq!(goaway.map(Http2Frame::code), Some(CALM), "{last:?}");
        self.balancer.wait_for_log_line(limit, |line| {
            line["cause"] == "http2-flood" && line["defect"] == limit
        });
        self.counted(counter);
        self.serves();
    }

    fn counted(&self, counter: &str) {
        self.balancer.report_when(counter, |report| {
            report.total.limits.iter().any(|one| one.name == counter && one.count.total == 1)
        });
    }

    fn serves(&self) {
        let mut client = FrameClient::connect(self.balancer.front());
        client.get(1, "/");
        assert!(client.next_of(kind::DATA).is_some(), "the next client is served");
        assert_eq!(self.balancer.client().get("/").status(), 200, "HTTP/1 too");
    }
}

#[test]
fn streams_taken_back_meet_their_limit() {
    let attacked = AttackedBalancer::new("resets = 50");
    let mut client = FrameClient::connect(attacked.balancer.front());
    for at in 0..1000 {
        let stream = 2 * at + 1;
        client.get(stream, "/").send(kind::RESET, 0, stream, &8u32.to_be_bytes());
    }
    attacked.ended(&client.read_to_end(), "rapid-reset", "http2-resets");
}

#[test]
fn frames_that_carry_nothing_meet_their_limit() {
    for (name, flags, stream, payload) in [
        (kind::PING, 0, 0, &[0u8; 8][..]),
        (kind::SETTINGS, 0, 0, &[]),
        (kind::PRIORITY, 0, 1, &[0, 0, 0, 3, 7]),
        (77, 0, 0, b"unknown"),
    ] {
        let attacked = AttackedBalancer::new("control-frames = 100");
        let mut client = FrameClient::connect(attacked.balancer.front());
        for _ in 0..5_000 {
            client.send(name, flags, stream, payload);
        }
        attacked.ended(&client.read_to_end(), "control-frames", "http2-control-frames");
    }
}

#[test]
fn empty_bodies_meet_their_limit() {
    let attacked = AttackedBalancer::new("control-frames = 100");
    let mut client = FrameClient::connect(attacked.balancer.front());
    client.send(kind::HEADERS, WHOLE, 1, &head("POST", "/", &[]));
    for _ in 0..5_000 {
        client.send(kind::DATA, 0, 1, &[]);
    }
    attacked.ended(&client.read_to_end(), "control-frames", "http2-control-frames");
}

#[test]
fn tiny_windows_meet_their_limit() {
    let attacked = AttackedBalancer::new("tiny-frames = 50");
    let mut client = FrameClient::connect_with(attacked.balancer.front(), &[(4, 1)]);
    client.get(1, "/bytes/100000");
    let mut last = Vec::new();
    while let Some(frame) = client.next_frame() {
        if frame.kind == kind::DATA {
            client.send(kind::WINDOW, 0, 1, &1u32.to_be_bytes());
        }
        last.push(frame);
    }
    let sent = last.iter().filter(|frame| frame.kind == kind::DATA).count();
    assert!(sent <= 60, "{sent} pieces were sent");
    attacked.ended(&last, "tiny-frames", "http2-tiny-frames");
}

#[test]
fn requests_that_break_rules_meet_their_limit() {
    let attacked = AttackedBalancer::new("malformed = 20, control-frames = 100000");
    let mut client = FrameClient::connect(attacked.balancer.front());
    for at in 0..500 {
        client.send(kind::HEADERS, END | WHOLE, 2 * at + 1, &head("GET", "/", &[("upgrade", "x")]));
    }
    attacked.ended(&client.read_to_end(), "malformed-requests", "http2-malformed");
}

#[test]
fn streams_that_we_are_made_to_reset_meet_the_same_limit() {
    let attacked = AttackedBalancer::new("malformed = 20, control-frames = 100000");
    let mut client = FrameClient::connect(attacked.balancer.front());
    for at in 0..500 {
        let stream = 2 * at + 1;
        client.get(stream, "/delay/600000");
        // Larger than the maximum window (RFC 9113 §6.9.1).
        client.send(kind::WINDOW, 0, stream, &0x7fff_ffff_u32.to_be_bytes());
    }
    attacked.ended(&client.read_to_end(), "malformed-requests", "http2-malformed");
}

#[test]
fn what_waits_for_a_client_is_bounded_over_all_streams_of_its_connection() {
    const STREAMS: u32 = 100;
    let attacked = AttackedBalancer::new("streams = 100");
    let mut clients: Vec<FrameClient> = Vec::new();
    for _ in 0..3 {
        // With windows of zero, response heads may be sent but no bodies.
        let mut client = FrameClient::connect_with(attacked.balancer.front(), &[(4, 0)]);
        for at in 0..STREAMS {
            client.get(2 * at + 1, "/bytes/1000000");
        }
        let mut heads = 0;
        while heads < STREAMS {
            heads += u32::from(client.next_frame().unwrap().kind == kind::HEADERS);
        }
        clients.push(client);
    }
    let held = || -> u64 {
        let metrics = attacked.balancer.metrics();
        let line = metrics.lines().find(|line| line.starts_with("steelyard_buffered_bytes "));
        line.and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap()
    };
    // The limit per connection, and a little for each stream.
    let most = 3 * (64 * 1024 + u64::from(STREAMS) * 1024);
    let seen: Vec<u64> = (0..5).map(|_| held()).collect();
    assert!(seen.iter().all(|held| *held <= most), "{seen:?} of {most}");
    assert!(seen[4] > 0, "something waits");
    drop(clients);
    attacked.serves();
}

#[test]
fn a_head_without_end_is_cut() {
    let attacked = AttackedBalancer::new("");
    let mut client = FrameClient::connect(attacked.balancer.front());
    client.send(kind::HEADERS, END, 1, &head("GET", "/", &[]));
    for _ in 0..2_000 {
        client.send(kind::CONTINUATION, 0, 1, &[0; 16]);
    }
    let last = client.read_to_end();
    assert!(last.iter().all(|frame| frame.kind != kind::HEADERS), "{last:?}");
    attacked.serves();
    // A slow head ends at the header timeout.
    let mut client = FrameClient::connect(attacked.balancer.front());
    client.send(kind::HEADERS, END, 1, &head("GET", "/", &[]));
    assert!(client.read_to_end().iter().any(|frame| frame.kind == kind::GOAWAY));
    attacked
        .balancer
        .wait_for_log_line("a slow head", |line| line["cause"] == "client-header-timeout");
    attacked.serves();
}

#[test]
fn heads_beyond_their_limit_get_431() {
    let attacked = AttackedBalancer::new("");
    let mut client = FrameClient::connect(attacked.balancer.front());
    let long = "x".repeat(9_000);
    let more: Vec<(&str, &str)> = (0..4).map(|_| ("filler", long.as_str())).collect();
    let block = head("GET", "/", &more);
    let (first, rest) = block.split_at(16_000);
    client.send(kind::HEADERS, END, 1, first);
    let pieces: Vec<&[u8]> = rest.chunks(16_000).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let flags = if at + 1 == pieces.len() { WHOLE } else { 0 };
        client.send(kind::CONTINUATION, flags, 1, piece);
    }
    let answer = client.next_of(kind::HEADERS).unwrap();
    assert_eq!(answer.stream, 1);
    attacked.balancer.wait_for_log_line("a head beyond its limit", |line| {
        line["cause"] == "head-too-large" && line["status"] == 431
    });
    attacked.serves();
}

#[test]
fn a_bomb_of_compressed_heads_does_not_go_off() {
    let attacked = AttackedBalancer::new("");
    let mut client = FrameClient::connect(attacked.balancer.front());
    // One long field is added to the dynamic table; after that, a single byte repeats the field.
    let value = "x".repeat(3_500);
    let mut block = head("GET", "/", &[]);
    block.extend([0x40, 4]);
    block.extend(b"bomb");
    block.extend([127, 0xad, 0x1a]);
    block.extend(value.as_bytes());
    block.extend(std::iter::repeat_n(0xbe, 10_000));
    client.send(kind::HEADERS, END | WHOLE, 1, &block);
    let answered = client.next_of(kind::HEADERS);
    if let Some(answered) = answered {
        assert_eq!(answered.stream, 1, "an answer of ours");
    }
    attacked.balancer.wait_for_log_line("the bomb", |line| line["cause"] == "head-too-large");
    attacked.serves();
}

#[test]
fn streams_beyond_their_number_are_refused_and_may_come_again() {
    let attacked = AttackedBalancer::new("streams = 2");
    let mut client = FrameClient::connect(attacked.balancer.front());
    for stream in [1, 3, 5] {
        client.send(kind::HEADERS, WHOLE, stream, &head("POST", "/echo", &[]));
    }
    let refused = client.next_of(kind::RESET).unwrap();
    assert_eq!((refused.stream, refused.code()), (5, 7), "REFUSED_STREAM");
    attacked.counted("http2-refused-streams");
    for stream in [1, 3] {
        client.send(kind::DATA, END, stream, b"x");
    }
    for _ in 0..2 {
        assert!(client.next_of(kind::DATA).is_some());
    }
    client.get(7, "/");
    assert!(client.next_on(7).is_some());
}
