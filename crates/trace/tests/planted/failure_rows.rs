//! The ways in which connections fail, each as a script with the cause that must be found.

use crate::capture::{ACK, FIN, PlantedPacket, RST, SYN};
use crate::script::ScriptedConnection;

pub type FailureScript = fn(&mut ScriptedConnection);

/// A way to fail, and the first cause that must be found.
pub struct FailureRow {
    pub name: &'static str,
    pub cause: &'static str,
    pub script: FailureScript,
}

const HELLO: [u8; 60] = {
    let mut hello = [0; 60];
    hello[0] = 22;
    hello[1] = 3;
    hello[2] = 1;
    hello[4] = 55;
    hello[5] = 1;
    hello
};

pub const ROWS: &[FailureRow] = &[
    FailureRow {
        name: "refused",
        cause: "CONNECT_REFUSED server",
        script: |one| {
            one.client(SYN, b"").wait(20).server(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "unanswered",
        cause: "CONNECT_UNANSWERED server",
        script: |one| {
            one.client(SYN, b"");
            for ms in [1_000, 2_000, 4_000] {
                one.wait(ms).repeat(true);
            }
        },
    },
    FailureRow {
        name: "syn-ack lost behind the capture",
        cause: "CONNECT_UNFINISHED client",
        script: |one| {
            one.client(SYN, b"").wait(20).server(SYN | ACK, b"");
            for ms in [1_000, 2_000] {
                one.wait(ms).repeat(false);
            }
        },
    },
    FailureRow {
        name: "accept queue full",
        cause: "ACCEPT_QUEUE_FULL server",
        script: |one| {
            one.client(SYN, b"").wait(20).server(SYN | ACK, b"").client(ACK, b"").ask();
            for ms in [300, 700] {
                one.wait(ms).repeat(true);
            }
            one.wait(10);
            let syn_ack = one.packets[1].clone();
            let time_ns = one.now_ms * 1_000_000;
            one.packets.push(PlantedPacket { time_ns, ip_id: 9_999, ..syn_ack });
            for ms in [1_400, 2_800] {
                one.wait(ms).repeat(true);
            }
        },
    },
    FailureRow {
        name: "never answered",
        cause: "REQUEST_UNANSWERED server",
        script: |one| {
            one.handshake()
                .exchange(5)
                .ask()
                .wait(20)
                .server(ACK, b"")
                .wait(9_000)
                .probe(true)
                .wait(20)
                .server(ACK, b"");
        },
    },
    FailureRow {
        name: "never answered, the client gives up",
        cause: "REQUEST_UNANSWERED server",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .server(ACK, b"")
                .wait(30_000)
                .client(FIN | ACK, b"")
                .wait(20)
                .server(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "never answered, the client resets",
        cause: "REQUEST_UNANSWERED server",
        script: |one| {
            one.handshake().ask().wait(20).server(ACK, b"").wait(30_000).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "hello never answered",
        cause: "REQUEST_UNANSWERED server",
        script: |one| {
            one.handshake().client(ACK, &HELLO).wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "reset instead of an answer",
        cause: "REQUEST_RESET server",
        script: |one| {
            one.handshake().exchange(5).wait(70).ask().wait(20).server(RST, b"");
        },
    },
    FailureRow {
        name: "closed instead of an answer",
        cause: "REQUEST_CLOSED server",
        script: |one| {
            one.handshake().ask().wait(20).server(FIN | ACK, b"").client(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "hello closed",
        cause: "REQUEST_CLOSED server",
        script: |one| {
            one.handshake()
                .client(ACK, &HELLO)
                .wait(20)
                .server(FIN | ACK, b"")
                .client(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "hello reset",
        cause: "REQUEST_RESET server",
        script: |one| {
            one.handshake().client(ACK, &HELLO).wait(20).server(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "hello refused by an alert",
        cause: "TLS_REFUSED client",
        script: |one| {
            one.handshake()
                .client(ACK, &HELLO)
                .wait(20)
                .server(ACK, &[21, 3, 3, 0, 2, 2, 40])
                .server(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "certificate refused by an encrypted alert",
        cause: "TLS_REFUSED server",
        script: |one| {
            one.handshake().hello().records(false, 600, 605).wait(20);
            one.records(true, 19, 24).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "certificate of the client missing, by an encrypted alert",
        cause: "TLS_REFUSED client",
        script: |one| {
            one.handshake().sealed_hello().records(true, 200, 205).wait(20);
            one.records(false, 19, 24).server(FIN | ACK, b"").client(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "hello answered in clear",
        cause: "TLS_REFUSED server",
        script: |one| {
            one.handshake().client(ACK, &HELLO).wait(20);
            one.server(ACK, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            one.server(FIN | ACK, b"").client(FIN | ACK, b"").wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "tickets of TLS, then a close instead of an answer",
        cause: "REQUEST_CLOSED server",
        script: |one| {
            one.handshake().sealed_hello().records(true, 200, 205).wait(20);
            one.records(false, 250, 255).records(false, 250, 255).client(ACK, b"").wait(50);
            one.server(FIN | ACK, b"").records(true, 19, 24).client(FIN | ACK, b"").wait(20);
            one.server(ACK, b"");
        },
    },
    FailureRow {
        name: "tickets of TLS, and never an answer",
        cause: "REQUEST_UNANSWERED server",
        script: |one| {
            one.handshake().sealed_hello().records(true, 200, 205).wait(20);
            one.records(false, 250, 255).records(false, 250, 255).client(ACK, b"");
            one.wait(5_000).probe(true).wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "record of an answer reset",
        cause: "ANSWER_CUT server",
        script: |one| {
            one.handshake().hello().records(true, 200, 200).wait(20);
            one.records(false, 40_000, 20_000).client(ACK, b"").wait(20).server(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "record of an answer closed early",
        cause: "ANSWER_CUT server",
        script: |one| {
            one.handshake().hello().records(true, 200, 200).wait(20);
            one.records(false, 9_000, 8_000).client(ACK, b"").server(FIN | ACK, b"");
            one.wait(20).client(FIN | ACK, b"").server(ACK, b"");
        },
    },
    FailureRow {
        name: "record of an answer stalled",
        cause: "ANSWER_STALLED server",
        script: |one| {
            one.handshake().hello().records(true, 200, 200).wait(20);
            one.records(false, 9_000, 8_000).client(ACK, b"").wait(5_000);
            one.probe(true).wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "record of a request given up",
        cause: "REQUEST_CUT client",
        script: |one| {
            one.handshake().hello().records(true, 9_000, 4_000).wait(20).server(ACK, b"");
            one.wait(100).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "answer reset",
        cause: "ANSWER_CUT server",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .answer(100_000, 20_000)
                .client(ACK, b"")
                .wait(20)
                .server(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "answer closed early",
        cause: "ANSWER_CUT server",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .answer(100_000, 20_000)
                .client(ACK, b"")
                .wait(20)
                .server(FIN | ACK, b"")
                .client(FIN | ACK, b"");
        },
    },
    FailureRow {
        name: "answer aborted by the client",
        cause: "ANSWER_CUT client",
        script: |one| {
            one.handshake().ask().wait(20).answer(100_000, 20_000).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "answer stalls",
        cause: "ANSWER_STALLED server",
        script: |one| {
            one.handshake().ask().wait(20).answer(100_000, 20_000).client(ACK, b"");
            one.wait(2_000).probe(true).wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "chunked answer cut",
        cause: "ANSWER_CUT server",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .server(ACK, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nxxxx")
                .client(ACK, b"")
                .wait(20)
                .server(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "request given up by a close",
        cause: "REQUEST_CUT client",
        script: |one| {
            one.handshake().ask().wait(20).server(ACK, b"").wait(30).client(FIN | ACK, b"");
            one.wait(20).server(FIN | ACK, b"").client(ACK, b"");
        },
    },
    FailureRow {
        name: "upload given up",
        cause: "REQUEST_CUT client",
        script: |one| {
            one.handshake()
                .client(ACK, b"POST / HTTP/1.1\r\nContent-Length: 9000\r\n\r\nabc")
                .wait(20)
                .server(ACK, b"")
                .wait(20)
                .client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "server gone",
        cause: "PEER_GONE server",
        script: |one| {
            one.handshake().exchange(5).ask();
            for ms in [200, 400, 800, 1_600] {
                one.wait(ms).repeat(true);
            }
        },
    },
    FailureRow {
        name: "client gone",
        cause: "PEER_GONE client",
        script: |one| {
            one.handshake().ask().wait(20).answer(1_000, 1_000);
            for ms in [200, 400, 800, 1_600] {
                one.wait(ms).repeat(false);
            }
        },
    },
    FailureRow {
        name: "window closed for good",
        cause: "WINDOW_CLOSED client",
        script: |one| {
            one.handshake().ask().wait(20).answer(100_000, 20_000).window(true, 0).client(ACK, b"");
            for ms in [200, 400, 800, 1_600] {
                one.wait(ms).probe(false).client(ACK, b"");
            }
        },
    },
    FailureRow {
        name: "keep-alive without reply",
        cause: "KEEPALIVE_UNANSWERED server",
        script: |one| {
            one.handshake().exchange(5);
            for _ in 0..4 {
                one.wait(5_000).probe(true);
            }
            one.wait(5_000).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "reset after the handshake",
        cause: "CONNECTION_RESET server",
        script: |one| {
            one.handshake().wait(20).server(RST, b"");
        },
    },
];
