//! Targets of whole connections: a worker between a client and servers that send any bytes, in virtual time.
//!
//! The targets cover HTTP/1, HTTP/2, PROXY protocol headers, ClientHellos and TCP bytes. The simulation checks the
//! properties: the connection ends, all counters balance, and no memory stays held.

use l7::simulation::hostile::play;

use crate::corpus;

/// The connection preface of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Any bytes. The first byte selects the settings.
pub fn any(bytes: &[u8]) {
    play(bytes);
}

/// An HTTP/2 client with consistent frame lengths. The first two bytes select the worker's settings and the random
/// seed. The third byte is the number of frames from the client; servers send the others. Each frame has a byte each
/// for kind, flags, stream and length, and then its payload.
pub fn frames(bytes: &[u8]) {
    let Some(([bits, seed, count], rest)) = bytes.split_first_chunk::<3>() else { return };
    let mut client = PREFACE.to_vec();
    let mut server = Vec::new();
    let mut rest = rest;
    let mut number = 0;
    while let [kind, flags, stream, length, after @ ..] = rest {
        let (payload, more) = after.split_at(after.len().min(usize::from(*length)));
        let to = if number < count & 31 { &mut client } else { &mut server };
        to.extend([0, 0, payload.len() as u8, kind % 12, *flags, 0, 0, 0, *stream]);
        to.extend(payload);
        rest = more;
        number += 1;
    }
    play(&case(*bits, *seed, &client, &server));
}

fn case(bits: u8, seed: u8, client: &[u8], server: &[u8]) -> Vec<u8> {
    let length = (client.len().min(usize::from(u16::MAX)) as u16).to_be_bytes();
    [&[bits, seed][..], &length, client, server].concat()
}

/// Requests and responses of the message corpus under some settings, and bytes that are not HTTP.
pub fn any_seeds() -> Vec<Vec<u8>> {
    let short = |kind| {
        let all = corpus::load(kind).into_iter().map(|case| case.sent);
        all.filter(|sent| sent.len() < 1_000).collect::<Vec<_>>()
    };
    let requests = short("requests");
    let answers = short("answers");
    let pair = |(at, request): (usize, &Vec<u8>)| {
        case([0, 8, 16, 24, 40][at % 5], at as u8, request, &answers[at % answers.len()])
    };
    let mut all: Vec<Vec<u8>> = requests.iter().enumerate().map(pair).collect();
    let hello = &crate::hello::any_seeds()[0];
    let proxied = [&crate::proxy::seeds()[5][..], b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
    all.push(case(4, 1, hello, b"answer"));
    all.push(case(2, 1, &proxied, &answers[0]));
    all.push(case(6, 1, &proxied, b"answer"));
    all.push(case(0, 1, &[PREFACE, &b"\0\0\0\x04\0\0\0\0\0"[..]].concat(), &answers[0]));
    all
}

/// SETTINGS, a request with a body, and the response of an HTTP/2 server.
pub fn frames_seeds() -> Vec<Vec<u8>> {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        [&[kind, flags, stream, payload.len() as u8], payload].concat()
    };
    // GET, http, a path and an authority, from the static table and as literals (RFC 7541, appendix A).
    let get = b"\x82\x86\x84\x41\x01a";
    let post = b"\x83\x86\x44\x02/x\x41\x01a\x0f\x0d\x014";
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0x10, 0]);
    let answer = [frame(4, 0, 0, b""), frame(1, 4, 1, b"\x88"), frame(0, 1, 1, b"hello")].concat();
    let asks = [settings.clone(), frame(1, 5, 1, get)].concat();
    let sends = [settings, frame(1, 4, 1, post), frame(0, 1, 1, b"body")].concat();
    let more = [
        frame(6, 0, 0, b"12345678"),
        frame(8, 0, 0, &[0, 0, 0xff, 0xff]),
        frame(3, 0, 1, &[0, 0, 0, 8]),
        frame(7, 0, 0, &[0; 8]),
    ]
    .concat();
    vec![
        [&[1, 1, 2][..], &asks, &answer].concat(),
        [&[1, 1, 3][..], &sends, &answer].concat(),
        [&[1, 2, 7][..], &sends, &more, &answer, &more].concat(),
        [&[0, 2, 31][..], &asks, &more].concat(),
    ]
}
