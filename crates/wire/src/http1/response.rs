//! A parsed response head: a view of the caller's bytes with the framing determined.
//!
//! The body is not read here. [`ResponseContext`] holds the properties of the request that matter.

use super::defect::Defect;
use super::field_set::FieldSet;
use super::framing::MessageFraming;
use super::head::{HeadLimits, HeaderSlots, HttpVersion};
use super::head_summary::{HeadSummary, field_offset};
use super::locate_defect;
use httparse::{Header, ParserConfig, Status};

/// The properties of a request that affect how its response is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseContext {
    /// HEAD: no response has a body.
    Head,
    /// CONNECT: a 2xx response has no body.
    Connect,
    /// The request asked for an upgrade: a 101 response is allowed.
    Upgrade,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBody {
    /// No body: 1xx, 204, 304, or a response to HEAD.
    None,
    Length(u64),
    Chunked,
    /// Until the server closes the connection.
    UntilClose,
}

#[derive(Debug)]
pub struct ParsedResponseHead<'b, 's> {
    /// 100–999. A 1xx other than 101 is followed by another response to the same request.
    pub status: u16,
    /// The server's version.
    pub version: HttpVersion,
    /// The reason phrase; may contain bytes above 0x7f.
    pub reason: &'b [u8],
    /// All fields in order, values trimmed.
    pub headers: &'s [Header<'b>],
    /// Length of the head in the input.
    pub head_len: usize,
    pub body: ResponseBody,
    /// The Content-Length, also of responses without a body (HEAD, 304).
    pub content_length: Option<u64>,
    /// Whether the server's connection is persistent, as far as the head indicates.
    pub keep_alive: bool,
    /// `timeout` of the Keep-Alive field: idle time in seconds after which the server closes.
    pub keep_alive_timeout: Option<u32>,
    /// The Upgrade value, if Connection names it or the status is 101.
    pub upgrade: Option<&'b str>,
    pub(crate) head: &'b [u8],
    pub(crate) dropped: FieldSet,
    pub(crate) conditional: FieldSet,
}

impl<'b, 's> ParsedResponseHead<'b, 's> {
    /// The end-to-end fields, without framing.
    pub fn forwarded_headers(&self) -> impl Iterator<Item = &'s Header<'b>> + use<'b, 's> {
        let dropped = self.dropped;
        let fields = self.headers.iter().enumerate();
        fields.filter(move |(at, _)| !dropped.contains(*at)).map(|(_, header)| header)
    }

    /// Changes the framing for a body whose new form has an unknown length.
    pub fn set_unknown_length(&mut self) {
        self.body = ResponseBody::Chunked;
        self.content_length = None;
    }

    /// 1xx: not the final response (101 ends HTTP on this connection).
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Whether closing the client's connection is the only way to end the body: the server sent no framing, or the
    /// client's version does not support it.
    pub fn ends_with_close(&self, client: HttpVersion) -> bool {
        match self.body {
            ResponseBody::UntilClose => true,
            ResponseBody::Chunked => client == HttpVersion::Http10,
            ResponseBody::None | ResponseBody::Length(_) => false,
        }
    }
}

/// Parses one response head at the start of `bytes`. `None`: more bytes are needed (see [`super::may_complete`]).
///
/// # Errors
///
/// The first violated rule, independent of how the bytes arrive. The server's connection cannot be reused.
#[inline]
pub fn parse_response<'b, 's>(
    bytes: &'b [u8],
    limits: &HeadLimits,
    slots: &'s mut HeaderSlots<'b>,
    asked: ResponseContext,
) -> Result<Option<ParsedResponseHead<'b, 's>>, Defect> {
    let window = bytes.get(..limits.head_bytes).unwrap_or(bytes);
    // httparse skips empty lines. Before a response they are left over from the previous response.
    if let Some(b'\r' | b'\n') = window.first() {
        return Err(Defect::BadStatusLine);
    }
    let count = limits.head_count.min(HeaderSlots::COUNT);
    let mut raw = httparse::Response::new(&mut []);
    let parsed = ParserConfig::default().parse_response_with_uninit_headers(
        &mut raw,
        window,
        &mut slots.0[..count],
    );
    let len = match parsed {
        Ok(Status::Complete(len)) => len,
        Ok(Status::Partial) if bytes.len() < limits.head_bytes => return Ok(None),
        Ok(Status::Partial) => return Err(Defect::HeadTooLarge),
        Err(error) => return Err(locate_defect::response(window, error)),
    };
    let status = raw.code.unwrap_or_default();
    let version = HttpVersion::from_minor(raw.version);
    let headers: &'s [Header<'b>] = raw.headers;
    interpret_head(status, version, headers, &window[..len], asked).map(Some)
}

fn interpret_head<'b, 's>(
    status: u16,
    version: HttpVersion,
    headers: &'s [Header<'b>],
    head: &'b [u8],
    asked: ResponseContext,
) -> Result<ParsedResponseHead<'b, 's>, Defect> {
    let facts = HeadSummary::from_headers::<false>(head, headers)?;
    if status < 100 {
        return Err(Defect::BadStatus);
    }
    let frame = facts.framing.resolve(version)?;
    if status == 101 && (asked != ResponseContext::Upgrade || facts.upgrade.is_none()) {
        return Err(Defect::UnaskedSwitch);
    }
    let body = response_body(status, frame, asked);
    let fields_at = headers.first().map_or(head.len() - 2, |first| field_offset(head, first.name));
    let options = facts.connection;
    let wants_to_stay = !options.close && (version == HttpVersion::Http11 || options.keep_alive);
    // A server that announces a body where none is allowed may send one. The next response could not be located then.
    let is_clear = !(status < 200 || status == 204) || !facts.framing.announces_bytes();
    let names_upgrade = options.upgrade || status == 101;
    Ok(ParsedResponseHead {
        status,
        version,
        reason: head.get(13..fields_at - 2).unwrap_or_default(),
        headers,
        head_len: head.len(),
        body,
        content_length: facts.framing.length(),
        keep_alive: wants_to_stay && is_clear && body != ResponseBody::UntilClose && status != 101,
        keep_alive_timeout: facts.keep_alive.and_then(keep_alive_timeout),
        upgrade: facts
            .upgrade
            .filter(|_| names_upgrade)
            .and_then(|value| std::str::from_utf8(value).ok()),
        head,
        dropped: facts.dropped,
        conditional: facts.conditional,
    })
}

/// RFC 9112 §6.3, in its order.
fn response_body(status: u16, frame: MessageFraming, asked: ResponseContext) -> ResponseBody {
    let never = asked == ResponseContext::Head || status < 200 || status == 204 || status == 304;
    if never || (asked == ResponseContext::Connect && status < 300) {
        return ResponseBody::None;
    }
    match frame {
        MessageFraming::None => ResponseBody::UntilClose,
        MessageFraming::Length(length) => ResponseBody::Length(length),
        MessageFraming::Chunked => ResponseBody::Chunked,
    }
}

/// The `timeout` parameter of a Keep-Alive value, as in `timeout=5`. An invalid value is ignored.
fn keep_alive_timeout(value: &[u8]) -> Option<u32> {
    super::token::elements(value).find_map(|parameter| {
        let at = memchr::memchr(b'=', parameter)?;
        let name = parameter.get(..at)?;
        let number = parameter.get(at + 1..)?;
        if !super::token::trim(name).eq_ignore_ascii_case(b"timeout") {
            return None;
        }
        std::str::from_utf8(super::token::trim(number)).ok()?.parse().ok()
    })
}
