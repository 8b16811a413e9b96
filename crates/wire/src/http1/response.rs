//! An answer head, understood: a view of the caller's bytes with its framing decided.
//!
//! It does not read the body. It does not know the request: [`ResponseContext`] tells what matters of it.

use super::defect::Defect;
use super::field_set::FieldSet;
use super::framing::MessageFraming;
use super::head::{HeadLimits, HeaderSlots, HttpVersion};
use super::head_summary::{HeadSummary, field_offset};
use super::locate_defect;
use httparse::{Header, ParserConfig, Status};

/// What of a request decides how its answer is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseContext {
    /// HEAD: no answer has a body.
    Head,
    /// CONNECT: a 2xx answer has no body.
    Connect,
    /// An upgrade was asked for: 101 may come.
    Upgrade,
    Other,
}

/// How the body of an answer is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseBody {
    /// No body: 1xx, 204, 304, or an answer to HEAD.
    None,
    Length(u64),
    Chunked,
    /// Everything until the server closes.
    UntilClose,
}

#[derive(Debug)]
pub struct ParsedResponseHead<'b, 's> {
    /// 100–999. 1xx other than 101 are followed by another answer to the same request.
    pub status: u16,
    /// The version the server speaks.
    pub version: HttpVersion,
    /// The reason phrase; may hold bytes above 0x7f.
    pub reason: &'b [u8],
    /// All fields in order, values trimmed.
    pub headers: &'s [Header<'b>],
    /// Bytes of the input that the head took.
    pub head_len: usize,
    /// How the body is framed.
    pub body: ResponseBody,
    /// The Content-Length that was given, also where there is no body (HEAD, 304).
    pub content_length: Option<u64>,
    /// Whether the server keeps the connection, as far as the head tells.
    pub keep_alive: bool,
    /// `timeout` of the Keep-Alive field: after how many idle seconds the server will close.
    pub keep_alive_timeout: Option<u32>,
    /// The Upgrade value, if Connection names it.
    pub upgrade: Option<&'b str>,
    pub(crate) head: &'b [u8],
    pub(crate) dropped: FieldSet,
    pub(crate) conditional: FieldSet,
}

impl<'b, 's> ParsedResponseHead<'b, 's> {
    /// The fields that another hop may see, framing aside: none that holds for one connection.
    pub fn forwarded_headers(&self) -> impl Iterator<Item = &'s Header<'b>> + use<'b, 's> {
        let dropped = self.dropped;
        let fields = self.headers.iter().enumerate();
        fields.filter(move |(at, _)| !dropped.contains(*at)).map(|(_, header)| header)
    }

    /// The same answer with its body in another form, whose length is not known before its end.
    pub fn set_unknown_length(&mut self) {
        self.body = ResponseBody::Chunked;
        self.content_length = None;
    }

    /// 1xx: not the final answer (101 ends HTTP on this connection).
    pub fn is_interim(&self) -> bool {
        self.status < 200
    }

    /// Whether the client's connection must close after this answer because only that ends the body: no framing came
    /// from the server, or the client's version cannot read the one that came.
    pub fn ends_with_close(&self, client: HttpVersion) -> bool {
        match self.body {
            ResponseBody::UntilClose => true,
            ResponseBody::Chunked => client == HttpVersion::Http10,
            ResponseBody::None | ResponseBody::Length(_) => false,
        }
    }
}

/// Parses one answer head at the start of `bytes`; `None`: more bytes are needed (see [`super::may_complete`]).
///
/// # Errors
///
/// The first rule that the head breaks; the same one however the bytes arrive. The connection to that server cannot be
/// used again.
#[inline]
pub fn parse_response<'b, 's>(
    bytes: &'b [u8],
    limits: &HeadLimits,
    slots: &'s mut HeaderSlots<'b>,
    asked: ResponseContext,
) -> Result<Option<ParsedResponseHead<'b, 's>>, Defect> {
    let window = bytes.get(..limits.head_bytes).unwrap_or(bytes);
    // httparse skips empty lines; before an answer they are a rest of the one before.
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
    // A server that announces a body where none can be may send one; its next answer cannot be found then.
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

/// `timeout=5` of a Keep-Alive value; anything unreadable is no promise.
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
