//! Connections that end as they should, which no failure may be found in.

use crate::capture::{ACK, FIN, RST, SYN};
use crate::failure_rows::FailureRow;

/// Endings that are no failure.
pub const HEALTHY: &[FailureRow] = &[
    FailureRow {
        name: "closed",
        cause: "",
        script: |one| {
            one.handshake().exchange(5).close();
        },
    },
    FailureRow {
        name: "closed behind the last record",
        cause: "",
        script: |one| {
            one.handshake().hello().records(false, 400, 400).records(true, 200, 205).wait(20);
            one.records(false, 9_000, 9_005).client(ACK, b"").close();
        },
    },
    FailureRow {
        name: "the end of TLS comes for a client that has closed",
        cause: "",
        script: |one| {
            one.handshake().hello().records(true, 200, 205).wait(20);
            one.records(false, 9_000, 9_005).client(ACK, b"").client(FIN | ACK, b"").wait(20);
            one.records(false, 19, 24).client(RST, b"");
        },
    },
    FailureRow {
        name: "reset by the client behind the last record",
        cause: "",
        script: |one| {
            one.handshake().hello().records(true, 20_000, 20_010).wait(20).server(ACK, b"");
            one.records(false, 40_000, 40_015).client(ACK, b"").wait(20).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "the client resets a finished connection",
        cause: "",
        script: |one| {
            one.handshake().exchange(5).client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "the client closes, the server resets",
        cause: "",
        script: |one| {
            one.handshake().exchange(5).client(FIN | ACK, b"").wait(20).server(RST, b"");
        },
    },
    FailureRow {
        name: "a check of whether somebody listens",
        cause: "",
        script: |one| {
            one.client(SYN, b"").wait(20).server(SYN | ACK, b"").client(RST | ACK, b"");
        },
    },
    FailureRow {
        name: "answered keep-alive",
        cause: "",
        script: |one| {
            one.handshake().exchange(5);
            for _ in 0..4 {
                one.wait(5_000).probe(true).wait(20).server(ACK, b"");
            }
        },
    },
    FailureRow {
        name: "an answer until the close",
        cause: "",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .server(ACK, b"HTTP/1.1 200 OK\r\n\r\nabc")
                .server(FIN | ACK, b"")
                .client(FIN | ACK, b"")
                .wait(20)
                .server(ACK, b"");
        },
    },
    FailureRow {
        name: "a stream that nobody answers",
        cause: "",
        script: |one| {
            one.handshake();
            for _ in 0..5 {
                one.client(ACK, b"<14> a line of a log\n").wait(20).server(ACK, b"").wait(2_000);
            }
        },
    },
    FailureRow {
        name: "a server that speaks on its own account in a tunnel",
        cause: "",
        script: |one| {
            one.handshake().upgrade();
            for _ in 0..3 {
                one.wait(4_000).server(ACK, b"\x81\x05hello").client(ACK, b"");
            }
            one.client(ACK, b"\x81\x85abcdhello").wait(20).server(ACK, b"");
        },
    },
    FailureRow {
        name: "an answer of TLS behind its tickets",
        cause: "",
        script: |one| {
            one.handshake().sealed_hello().records(true, 200, 205).wait(20);
            one.records(false, 250, 255).records(false, 250, 255).client(ACK, b"").wait(50);
            one.records(false, 900, 905).client(ACK, b"").close();
        },
    },
    FailureRow {
        name: "a stream that its server ends",
        cause: "",
        script: |one| {
            one.handshake().client(ACK, b"cookie").wait(20).server(ACK, b"\x01");
            for _ in 0..30 {
                one.client(ACK, &[b'x'; 1_400]).wait(20).server(ACK, b"");
            }
            one.server(FIN | ACK, b"").client(ACK, &[b'x'; 1_400]).wait(20).server(RST, b"");
        },
    },
    FailureRow {
        name: "a window that opens again",
        cause: "",
        script: |one| {
            one.handshake()
                .ask()
                .wait(20)
                .answer(20_000, 10_000)
                .window(true, 0)
                .client(ACK, b"")
                .wait(5)
                .window(true, 512)
                .client(ACK, b"")
                .wait(20)
                .server(ACK, &[b'x'; 10_000])
                .client(ACK, b"")
                .close();
        },
    },
];
