//! Both ends of a recorded connection: scripted servers and clients with configurable delays.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tests::e2e::wait::linger;

/// How a server answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServerScript {
    /// Bytes of the body.
    pub bytes: usize,
    /// The pause before the response.
    pub think: Duration,
    /// The pause after each piece of 16 KiB.
    pub interval: Duration,
    /// Head and body are written separately, as two small segments. Nagle's algorithm holds back the second one.
    pub separate_head: bool,
    /// The size of the socket's send buffer in bytes; Linux doubles it for bookkeeping. 0 means the kernel's default.
    pub send_buffer: usize,
}

impl ServerScript {
    /// A server that responds at once with `bytes` bytes.
    pub fn of(bytes: usize) -> ServerScript {
        ServerScript { bytes, ..ServerScript::default() }
    }

    /// Answers requests until the client closes the connection.
    pub fn serve(self, mut stream: TcpStream) {
        if self.send_buffer > 0 {
            rustix::net::sockopt::set_socket_send_buffer_size(&stream, self.send_buffer).unwrap();
        }
        while let Some(body) = head(&mut stream) {
            skip(&mut stream, body);
            linger(self.think);
            let mut said = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", self.bytes);
            if self.separate_head {
                stream.write_all(said.as_bytes()).unwrap();
                said.clear();
            }
            let mut said = said.into_bytes();
            said.resize(said.len() + self.bytes, b'x');
            let pieces = if self.interval.is_zero() { said.len() } else { 16 * 1024 };
            for piece in said.chunks(pieces.max(1)) {
                stream.write_all(piece).unwrap();
                linger(self.interval);
            }
        }
    }
}

/// The timing of a client's requests.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClientScript {
    /// The number of requests, one after the other.
    pub times: usize,
    /// Pieces of the request's body, of 20,000 bytes.
    pub pieces: usize,
    /// The pause before each piece.
    pub each: Duration,
    /// After this many bytes of the response the client stops reading for this time.
    pub stop: (usize, Duration),
    /// The pause after each 16 KiB of the response.
    pub reads: Duration,
    /// The client delays its acknowledgements from the first packet on, as interactive clients do.
    pub delays: bool,
}

impl ClientScript {
    /// One request without a body, read as fast as possible.
    pub fn once() -> ClientScript {
        ClientScript { times: 1, ..ClientScript::default() }
    }

    /// Sends the requests, and closes after the last response.
    pub fn ask(self, mut stream: TcpStream) {
        for _ in 0..self.times {
            let length = self.pieces * PIECE;
            let method = if length > 0 { "POST" } else { "GET" };
            let said =
                format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(said.as_bytes()).unwrap();
            for _ in 0..self.pieces {
                linger(self.each);
                stream.write_all(&[b'u'; PIECE]).unwrap();
            }
            if self.delays {
                // An immediate acknowledgement turns quick ACKs back on in Linux, so they are turned off before each
                // response.
                rustix::net::sockopt::set_tcp_quickack(&stream, false).unwrap();
            }
            let mut left = head(&mut stream).unwrap();
            let (bytes, time) = self.stop;
            if bytes > 0 {
                skip(&mut stream, bytes);
                linger(time);
                left -= bytes;
            }
            while left > 0 {
                let piece = if self.reads.is_zero() { left } else { left.min(16 * 1024) };
                skip(&mut stream, piece);
                linger(self.reads);
                left -= piece;
            }
        }
    }
}

/// Bytes of a piece.
const PIECE: usize = 20_000;

/// Reads a head and returns the length of its body. `None` means that the peer has closed the connection.
fn head(stream: &mut TcpStream) -> Option<usize> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).unwrap() == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    Some(length.unwrap().parse().unwrap())
}

fn skip(stream: &mut TcpStream, mut bytes: usize) {
    let mut buffer = vec![0; 64 * 1024];
    while bytes > 0 {
        let room = bytes.min(buffer.len());
        let n = stream.read(&mut buffer[..room]).unwrap();
        assert!(n > 0, "{bytes} bytes of a body are missing");
        bytes -= n;
    }
}
