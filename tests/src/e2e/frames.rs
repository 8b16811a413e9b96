//! A client that sends single HTTP/2 frames (RFC 9113 §4.1), for input that no correct client sends.
//!
//! Field blocks are sent without compression (RFC 7541 §6.2.2), so that a test sees the bytes it sends. Every read has
//! a deadline. This module tracks no streams and checks nothing.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::wait::DEADLINE;

/// The connection preface (RFC 9113 §3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RESET: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// END_STREAM, and ACK of SETTINGS and PING.
pub const END: u8 = 1;
pub const WHOLE: u8 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http2Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

impl Http2Frame {
    /// The error code of RST_STREAM and GOAWAY.
    pub fn code(&self) -> u32 {
        let at = if self.kind == kind::GOAWAY { 4 } else { 0 };
        self.payload[at..at + 4].iter().fold(0, |code, byte| code << 8 | u32::from(*byte))
    }
}

#[derive(Debug)]
pub struct FrameClient {
    stream: TcpStream,
}

impl FrameClient {
    /// Connects to this address, and sends the preface and empty settings.
    pub fn connect(address: SocketAddr) -> FrameClient {
        FrameClient::connect_with(address, &[])
    }

    /// Connects to this address, and sends the preface and these settings.
    pub fn connect_with(address: SocketAddr, settings: &[(u16, u32)]) -> FrameClient {
        let mut frames = FrameClient::connect_bare(address);
        let mut payload = Vec::new();
        for (name, value) in settings {
            payload.extend(name.to_be_bytes());
            payload.extend(value.to_be_bytes());
        }
        frames.bytes(PREFACE).send(kind::SETTINGS, 0, 0, &payload);
        frames
    }

    /// Connects to this address without sending a preface.
    pub fn connect_bare(address: SocketAddr) -> FrameClient {
        let stream = TcpStream::connect_timeout(&address, DEADLINE)
            .unwrap_or_else(|error| panic!("cannot connect to {address}: {error}"));
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        stream.set_write_timeout(Some(DEADLINE)).unwrap();
        FrameClient { stream }
    }

    pub fn local(&self) -> SocketAddr {
        self.stream.local_addr().unwrap()
    }

    /// Sends bytes. Errors are ignored, because the peer may have closed the connection.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut FrameClient {
        // Ignored: the peer's reaction is read later.
        let _ = self.stream.write_all(bytes);
        self
    }

    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> &mut FrameClient {
        self.bytes(&frame(kind, flags, stream, payload))
    }

    /// Sends the head of a request without a body.
    pub fn get(&mut self, stream: u32, path: &str) -> &mut FrameClient {
        self.send(kind::HEADERS, END | WHOLE, stream, &head("GET", path, &[]))
    }

    /// The next frame. `None` means that the connection ended, in order or by an error.
    pub fn next_frame(&mut self) -> Option<Http2Frame> {
        match self.try_next() {
            Ok(frame) => Some(frame),
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                panic!("neither a frame nor the end came in time")
            }
            Err(_) => None,
        }
    }

    fn try_next(&mut self) -> io::Result<Http2Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & 0x7fff_ffff;
        Ok(Http2Frame { kind: head[3], flags: head[4], stream, payload })
    }

    /// The next frame of this kind; earlier frames of other kinds are dropped. `None` means that the connection ended
    /// first.
    pub fn next_of(&mut self, kind: u8) -> Option<Http2Frame> {
        while let Some(frame) = self.next_frame() {
            if frame.kind == kind && !(kind == kind::SETTINGS && frame.flags & END == END) {
                return Some(frame);
            }
        }
        None
    }

    /// The next frame of this stream.
    pub fn next_on(&mut self, stream: u32) -> Option<Http2Frame> {
        while let Some(frame) = self.next_frame() {
            if frame.stream == stream {
                return Some(frame);
            }
        }
        None
    }

    /// Reads to the end of the connection and returns the frames.
    pub fn read_to_end(&mut self) -> Vec<Http2Frame> {
        std::iter::from_fn(|| self.next_frame()).collect()
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

/// The head of a request to `shop.example`.
pub fn head(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let first =
        [(":method", method), (":scheme", "http"), (":authority", "shop.example"), (":path", path)];
    fields(first.iter().chain(more))
}

pub fn fields<'a>(fields: impl IntoIterator<Item = &'a (&'a str, &'a str)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        field(name.as_bytes(), value.as_bytes(), &mut out);
    }
    out
}

/// As `fields`, for names and values of any bytes.
pub fn byte_fields(fields: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        field(name, value, &mut out);
    }
    out
}

fn field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(0);
    text(name, out);
    text(value, out);
}

/// A string literal (RFC 7541 §5.2).
fn text(text: &[u8], out: &mut Vec<u8>) {
    let length = text.len();
    if length < 127 {
        out.push(length as u8);
    } else {
        out.push(127);
        let mut rest = length - 127;
        while rest >= 128 {
            out.push((rest % 128) as u8 | 128);
            rest /= 128;
        }
        out.push(rest as u8);
    }
    out.extend(text);
}
