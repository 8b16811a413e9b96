//! The bytes of both directions of a planned connection: HTTP/1 in clear, or records of TLS.

use crate::model::PlannedExchange;

/// The client's bytes and the server's; as long as the plan says.
pub fn build_streams(exchanges: &[PlannedExchange], is_tls: bool) -> [Vec<u8>; 2] {
    let mut streams = [Vec::new(), Vec::new()];
    for (number, exchange) in exchanges.iter().enumerate() {
        let request: usize = exchange.request.iter().map(|piece| piece.bytes).sum();
        let answer: usize = exchange.answer.iter().map(|piece| piece.bytes).sum();
        let (asked, told) = match (is_tls, number) {
            (true, 0) => (records(22, 1, request), records(22, 2, answer)),
            (true, _) => (records(23, 0, request), records(23, 0, answer)),
            (false, _) => {
                let line = format!("POST /orders/{number} HTTP/1.1\r\nContent-Length: ");
                (message(&line, request), message("HTTP/1.1 200 OK\r\nContent-Length: ", answer))
            }
        };
        streams[0].extend(asked);
        streams[1].extend(told);
    }
    streams
}

/// A message of exactly so many bytes; at least 60.
fn message(line: &str, bytes: usize) -> Vec<u8> {
    let body = bytes - line.len() - 12;
    let mut out = format!("{line}{body:08}\r\n\r\n").into_bytes();
    out.resize(bytes, b'x');
    out
}

/// Records of TLS that take exactly so many bytes.
fn records(kind: u8, first: u8, bytes: usize) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(bytes);
    while out.len() < bytes {
        let length = (bytes - out.len() - 5).min(16_384);
        // The rest must have room for a record of its own.
        let rest = bytes - out.len() - 5 - length;
        let length = if (1..6).contains(&rest) { length - 10 } else { length };
        out.extend([kind, 3, 3]);
        out.extend((length as u16).to_be_bytes());
        out.push(first);
        out.resize(out.len() + length - 1, 0xa5);
    }
    out
}
