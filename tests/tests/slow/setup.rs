//! Slow servers and slow clients, and a check of how often the balancer names the right owner.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, figure, is_long};
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait::{self, linger};

/// The number of repetitions of each cause.
pub fn times() -> usize {
    if is_long() { 200 } else { 6 }
}

/// A server that answers `/BYTES/THINK/EACH`: BYTES bytes after THINK milliseconds, with EACH milliseconds between
/// pieces of 16 KiB.
pub fn server(prepare: impl Fn(&TcpStream) + Send + Sync + 'static) -> ScriptedServer {
    ScriptedServer::start(answers(prepare))
}

/// As `server`, at this address.
pub fn server_at(
    address: SocketAddr,
    prepare: impl Fn(&TcpStream) + Send + Sync + 'static,
) -> ScriptedServer {
    ScriptedServer::start_at(address, answers(prepare))
}

fn answers(prepare: impl Fn(&TcpStream) + Send + Sync + 'static) -> impl Fn(TcpStream) {
    move |stream| {
        prepare(&stream);
        let mut reader = HttpReader::new(&stream);
        // Errors are ignored here, because the client's side reports a broken connection.
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
                return;
            }
            let line = request.start.clone();
            let target = line.split(' ').nth(1).unwrap_or("/");
            let mut parts = target.split('/').skip(1).map(|part| part.parse::<u64>().unwrap_or(0));
            let mut next = || parts.next().unwrap_or(0);
            let bytes = next() as usize;
            let think = next();
            let each = next();
            linger(Duration::from_millis(think));
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n");
            if (&stream).write_all(head.as_bytes()).is_err() {
                return;
            }
            let piece = [b'x'; 16 * 1024];
            let mut left = bytes;
            while left > 0 {
                let n = left.min(piece.len());
                if (&stream).write_all(&piece[..n]).is_err() {
                    return;
                }
                left -= n;
                linger(Duration::from_millis(each));
            }
        }
    }
}

/// The bytes after which a slow client pauses.
pub const PIECE: usize = 64 * 1024;

/// Requests a target and reads the whole response, with a pause after each piece.
pub fn fetch(stream: &TcpStream, target: &str, pause: Duration) -> usize {
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    whole(stream, target, pause)
}

/// As `fetch`, over any stream.
pub fn whole(mut stream: impl Read + Write, target: &str, pause: Duration) -> usize {
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut buffer = vec![0; PIECE];
    let mut sum = 0;
    let mut since = 0;
    loop {
        match stream.read(&mut buffer).unwrap() {
            0 => return sum,
            n => (sum, since) = (sum + n, since + n),
        }
        if since >= buffer.len() {
            since = 0;
            linger(pause);
        }
    }
}

/// The log's lines about this target, once there are at least `count`.
pub fn logged(balancer: &TestBalancer, target: &str, count: usize) -> Vec<Value> {
    wait::until_some(&format!("{count} lines about {target}"), || {
        let mut lines = balancer.log();
        lines.retain(|line| line["target"] == target);
        (lines.len() >= count).then_some(lines)
    })
}

/// At least 95 of 100 lines must name this owner. Prints the number.
pub fn blamed(what: &str, lines: &[Value], owner: &str) {
    let right = lines.iter().filter(|line| line["owner"] == owner).count();
    figure(format_args!("{what}: {right} of {} name the {owner}", lines.len()));
    assert!(right * 100 >= lines.len() * 95, "{what}: {right} of {}: {lines:#?}", lines.len());
}
