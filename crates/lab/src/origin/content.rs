//! What all connections of one origin share: its name, its usual answer, how it misbehaves.
//!
//! It holds no connection.

use std::sync::Arc;

use wire::http1::HeadLimits;

use super::request_log::RequestIdLog;

/// How an origin misbehaves; every request is affected, probes included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFault {
    /// An empty answer with this status.
    Status(u16),
    /// Bytes that are not HTTP, then the end.
    Garbage,
    /// The end instead of an answer.
    CloseBeforeAnswer,
    /// The end in the middle of the body.
    CloseMidAnswer,
    /// A reset instead of an answer.
    ResetBeforeAnswer,
    /// A reset in the middle of the body.
    ResetMidAnswer,
    /// Nothing, and the connection stays.
    Silence,
}

/// What all connections of an origin share.
#[derive(Debug)]
pub struct OriginContent {
    name: String,
    /// Bytes of the answer to `/`.
    pub body: u64,
    /// The usual answer to `/`, whole; empty when it is too large to be kept.
    pub root: Vec<u8>,
    /// Where identified requests are recorded.
    pub request_log: Arc<RequestIdLog>,
    /// How it misbehaves now.
    pub fault: Option<OriginFault>,
    /// Requests that arrived whole.
    pub requests: u64,
    /// What is accepted of a request's head.
    pub limits: HeadLimits,
}

impl OriginContent {
    /// A site that answers `/` with `body` bytes.
    pub fn new(name: &str, body: u64, seen: Arc<RequestIdLog>) -> OriginContent {
        let limits = HeadLimits::default();
        let mut site = OriginContent {
            name: name.to_owned(),
            body,
            root: Vec::new(),
            request_log: seen,
            fault: None,
            requests: 0,
            limits,
        };
        if body <= INLINE {
            let mut root = Vec::new();
            site.write_head(&mut root, 200, ResponseFraming::Length(body), &[]);
            root.resize(root.len() + body as usize, FILLER);
            site.root = root;
        }
        site
    }

    /// Appends the head of an answer.
    pub fn write_head(
        &self,
        out: &mut Vec<u8>,
        status: u16,
        framing: ResponseFraming,
        fields: &[&str],
    ) {
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(status.to_string().as_bytes());
        out.extend_from_slice(b" \r\nx-origin: ");
        out.extend_from_slice(self.name.as_bytes());
        match framing {
            ResponseFraming::Nothing => {}
            ResponseFraming::Length(bytes) => {
                out.extend_from_slice(b"\r\nContent-Length: ");
                out.extend_from_slice(bytes.to_string().as_bytes());
            }
            ResponseFraming::Chunked => out.extend_from_slice(b"\r\nTransfer-Encoding: chunked"),
        }
        for field in fields {
            out.extend_from_slice(b"\r\n");
            out.extend_from_slice(field.as_bytes());
        }
        out.extend_from_slice(b"\r\n\r\n");
    }
}

/// How an answer's body is framed.
#[derive(Clone, Copy, Debug)]
pub enum ResponseFraming {
    /// No body and no field.
    Nothing,
    Length(u64),
    Chunked,
}

/// What bodies are made of.
pub const FILLER: u8 = b'-';
/// Longer bodies are not kept in memory.
pub const INLINE: u64 = 16 * 1024;
