//! What all connections of an origin share: its name, its normal response, and its fault.
//!
//! It holds no connection.

use std::sync::Arc;

use wire::http1::HeadLimits;

use super::request_log::RequestIdLog;

/// A fault of an origin; it affects every request, health checks included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginFault {
    /// An empty response with this status.
    Status(u16),
    /// Bytes that are not HTTP, then a close.
    Garbage,
    /// A close instead of a response.
    CloseBeforeAnswer,
    /// A close in the middle of the body.
    CloseMidAnswer,
    /// A reset instead of a response.
    ResetBeforeAnswer,
    /// A reset in the middle of the body.
    ResetMidAnswer,
    /// No response, and the connection stays open.
    Silence,
}

#[derive(Debug)]
pub struct OriginContent {
    name: String,
    /// Bytes of the response's body for `/`.
    pub body: u64,
    /// The whole normal response to `/`; empty when it is too large to keep in memory.
    pub root: Vec<u8>,
    /// Where identified requests are recorded.
    pub request_log: Arc<RequestIdLog>,
    /// The active fault.
    pub fault: Option<OriginFault>,
    /// Requests received completely.
    pub requests: u64,
    /// Limits on request heads.
    pub limits: HeadLimits,
}

impl OriginContent {
    /// Content whose response to `/` has `body` bytes.
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

    /// Appends the head of a response.
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

/// The framing of a response's body.
#[derive(Clone, Copy, Debug)]
pub enum ResponseFraming {
    /// No body and no framing field.
    Nothing,
    Length(u64),
    Chunked,
}

/// The byte that bodies consist of.
pub const FILLER: u8 = b'-';
/// Bodies longer than this are not kept in memory.
pub const INLINE: u64 = 16 * 1024;
