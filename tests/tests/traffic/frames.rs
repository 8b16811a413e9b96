//! WebSockets by the sections of RFC 6455: the peer receives the same bytes, valid or not, and the end of one side ends
//! the other. A balancer does not validate frames.
//!
//! The cases run over HTTP/1.1 and, on the client's side, over HTTP/2 (RFC 8441).

use std::io::{Read, Write};
use std::net::TcpStream;

use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, WHOLE, fields, kind};
use tests::e2e::http::HttpReader;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::websocket;

const FINAL: u8 = 0x80;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// A frame as a client sends it (RFC 6455 §5.2), with any first byte.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        short @ 0..126 => out.push(0x80 | short as u8),
        middle @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend((middle as u16).to_be_bytes());
        }
        long => {
            out.push(0x80 | 127);
            out.extend((long as u64).to_be_bytes());
        }
    }
    out.extend(MASK);
    out.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    out
}

/// The cases: a name, and all bytes from the client.
fn cases() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    let mut add = |name: String, bytes: Vec<u8>| all.push((name, bytes));
    // §5.6: text and binary frames at the limits of the three length formats, and beyond.
    for size in [0, 1, 125, 126, 127, 128, 65_535, 65_536, 65_537, 1_000_000] {
        let payload: Vec<u8> = (0..size).map(|at| b'a' + (at % 26) as u8).collect();
        for (kind, what) in [(1, "a text"), (2, "a binary")] {
            add(format!("{what} of {size} bytes"), frame(FINAL | kind, &payload));
        }
    }
    // §5.5: control frames: single, too long, and fragmented.
    for (kind, what) in [(8, "close"), (9, "ping"), (10, "pong")] {
        for size in [0, 1, 2, 125, 126] {
            add(format!("{what} of {size} bytes"), frame(FINAL | kind, &vec![b'x'; size]));
        }
        add(format!("{what} in pieces"), [frame(kind, b"a"), frame(FINAL, b"b")].concat());
    }
    // §7.4: close codes, allowed and not, with a reason and with one that is not UTF-8.
    for code in [0, 999, 1000, 1001, 1005, 1006, 1015, 1100, 2999, 3000, 4999, 5000, 65_535] {
        let code = u16::to_be_bytes(code);
        add(format!("close with {code:?}"), frame(FINAL | 8, &code));
        add(
            format!("close with {code:?} and a reason"),
            frame(FINAL | 8, &[&code[..], b"bye"].concat()),
        );
    }
    add("close with bytes that are no text".to_owned(), frame(FINAL | 8, &[3, 0xe8, 0xff, 0xfe]));
    // §5.4: fragments: with control frames in between, wrongly continued, and never finished.
    let pieces =
        |middle: Vec<u8>| [frame(1, b"frag"), middle, frame(0, b"men"), frame(FINAL, b"ts")];
    add("a text in three pieces".to_owned(), pieces(Vec::new()).concat());
    add("a ping between pieces".to_owned(), pieces(frame(FINAL | 9, b"p")).concat());
    add("a close between pieces".to_owned(), pieces(frame(FINAL | 8, &[3, 0xe8])).concat());
    add("a text between pieces".to_owned(), pieces(frame(FINAL | 1, b"x")).concat());
    add("a continuation of nothing".to_owned(), frame(FINAL, b"x"));
    add("a text that never ends".to_owned(), frame(1, b"x"));
    let many: Vec<u8> = (0..500).flat_map(|_| frame(0, b"y")).collect();
    add("five hundred pieces".to_owned(), [frame(2, b"x"), many, frame(FINAL, b"z")].concat());
    let empty: Vec<u8> = (0..300).flat_map(|_| frame(0, b"")).collect();
    add("empty pieces".to_owned(), [frame(1, b""), empty, frame(FINAL, b"")].concat());
    // §5.2: reserved bits and opcodes.
    for first in [0xc1, 0xa1, 0x91, 0xf1, 0xc0, 0xf8, 0x83, 0x87, 0x8b, 0x8f, 0x03, 0x0f, 0xff] {
        add(format!("first byte {first:#04x}"), frame(first, b"reserved"));
    }
    // §5.1, §5.3: unmasked frames, and lengths that are wrong or not minimal.
    add("without a mask".to_owned(), [&[0x81, 5][..], b"plain"].concat());
    add("a length in too long a form".to_owned(), vec![0x82, 0xfe, 0, 1, 0, 0, 0, 0, b'x']);
    add("a length beyond all".to_owned(), [&[0x82, 0xff][..], &[0xff; 8], &[0; 4]].concat());
    add("a frame that breaks off".to_owned(), vec![0x82, 0x85, 0]);
    // §8.1: text that is not UTF-8, also split within a character.
    for bytes in [&[0xff][..], &[0xc0, 0xaf], &[0xed, 0xa0, 0x80], &[0xf4, 0x90, 0x80, 0x80]] {
        add(format!("a text of {bytes:02x?}"), frame(FINAL | 1, bytes));
    }
    add(
        "a character in two pieces".to_owned(),
        [frame(1, &[0xce]), frame(FINAL, &[0xba])].concat(),
    );
    // Many frames at once.
    let burst: Vec<u8> =
        (0..2_000).flat_map(|at| frame(FINAL | 9, &[(at % 251) as u8; 7])).collect();
    add("two thousand pings".to_owned(), burst);
    all
}

/// A server that accepts any upgrade, echoes every byte, and closes after its client.
fn mirror() -> ScriptedServer {
    ScriptedServer::start(|mut stream: TcpStream| {
        let mut reader = HttpReader::new(&stream);
        let Ok(Some(_)) = reader.head() else { return };
        let early = reader.take_buffered();
        let agreed =
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
        if stream.write_all(agreed).is_err() || stream.write_all(&early).is_err() {
            return;
        }
        let mut piece = vec![0; 65_536];
        while let Ok(read @ 1..) = stream.read(&mut piece) {
            if stream.write_all(&piece[..read]).is_err() {
                return;
            }
        }
    })
}

#[test]
fn every_byte_of_every_frame_comes_back() {
    let server = mirror();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let cases = cases();
    for (name, bytes) in &cases {
        let mut client = websocket::open(balancer.front());
        let mut writer = client.stream().try_clone().unwrap();
        let sent = bytes.clone();
        let writing = std::thread::spawn(move || writer.write_all(&sent).unwrap());
        assert!(client.read_exactly(bytes.len()) == *bytes, "{name}");
        writing.join().unwrap();
        client.shut_down_write();
        assert_eq!(client.read_to_end(), b"", "{name}: the end of one side ends the other");
    }
    figure(format!("websockets: {} cases, every byte came back", cases.len()));
    let report = balancer.report_when_settled();
    assert_eq!(report.total.requests.unaccounted, 0);
}

#[test]
fn the_same_out_of_http_2() {
    let server = mirror();
    let setup = BalancerConfig::http(&[server.address()]).service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    for (name, bytes) in cases().iter().filter(|(_, bytes)| bytes.len() <= 16_384) {
        let mut client = FrameClient::connect(balancer.front());
        let block = fields(&[
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "http"),
            (":path", "/ws"),
            (":authority", "shop.example"),
            ("sec-websocket-version", "13"),
        ]);
        client.send(kind::HEADERS, WHOLE, 1, &block);
        let answer = client.next_of(kind::HEADERS).unwrap();
        assert_eq!((answer.payload[0], answer.flags & END), (0x88, 0), "{name}: {answer:?}");
        client.send(kind::DATA, END, 1, bytes);
        let mut back = Vec::new();
        while let Some(data) = client.next_of(kind::DATA) {
            back.extend_from_slice(&data.payload);
            if data.flags & END == END {
                break;
            }
        }
        assert!(back == *bytes, "{name}");
    }
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}
