//! A parsed request head: a view of the caller's bytes with the framing determined.
//!
//! The body is not read here, and the route is chosen elsewhere.

use super::defect::Defect;
use super::field_set::FieldSet;
use super::framing::MessageFraming;
use super::head::{HeadLimits, HeaderSlots, HttpVersion, leading_lines};
use super::head_summary::HeadSummary;
use super::host::is_host;
use super::locate_defect;
use super::reserved::is_usual_name;
use super::response::ResponseContext;
use super::target;
use httparse::{Header, ParserConfig, Status};

/// Longest accepted method, in bytes; the longest registered method has 17.
/// UPDATEREDIRECTREF is the longest of IANA's registry of methods.
const METHOD_BYTES: usize = 32;

/// The methods of IANA's registry. Some servers ignore letter case, so these names pass only in their registered
/// spelling.
const METHODS: [&str; 40] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// A method; unknown methods pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpMethod<'b>(&'b str);

impl<'b> HttpMethod<'b> {
    /// The method as sent; methods are case-sensitive.
    pub fn as_str(self) -> &'b str {
        self.0
    }

    /// Whether repeating the request has the same effect as sending it once (RFC 9110 §9.2.2).
    pub fn is_idempotent(self) -> bool {
        self.is_safe() || matches!(self.0, "PUT" | "DELETE")
    }

    /// Whether the request only reads (RFC 9110 §9.2.1).
    pub fn is_safe(self) -> bool {
        matches!(self.0, "GET" | "HEAD" | "OPTIONS" | "TRACE")
    }

    pub fn is_head(self) -> bool {
        self.0 == "HEAD"
    }

    /// Whether the method is CONNECT, which [`parse_request`] rejects.
    pub fn is_connect(self) -> bool {
        self.0 == "CONNECT"
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyKind {
    /// No body and no framing field.
    None,
    /// The value of Content-Length in bytes, which may be zero.
    Length(u64),
    Chunked,
}

#[derive(Debug)]
pub struct ParsedRequestHead<'b, 's> {
    pub method: HttpMethod<'b>,
    /// The target as sent.
    pub target: &'b str,
    /// The client's version.
    pub version: HttpVersion,
    /// All fields in order, values trimmed.
    pub headers: &'s [Header<'b>],
    /// Length of the head in the input, including leading empty lines.
    pub head_len: usize,
    pub body: BodyKind,
    /// Whether the client's connection is persistent.
    pub keep_alive: bool,
    /// Whether the client waits for a 100 response before it sends the body.
    pub expect_continue: bool,
    /// The Upgrade value, if the client requests an upgrade. `h2c` is ignored (RFC 9110 §7.8), since the server would
    /// stop speaking HTTP/1. The body, if any, precedes the upgrade. For bytes that arrive before the server accepts,
    /// see [`Defect::EarlyUpgradeData`].
    pub upgrade: Option<&'b str>,
    /// The authority of the request: from an absolute-form target, else from Host. Only an HTTP/1.0 request may have
    /// none.
    pub host: Option<&'b str>,
    pub(crate) head: &'b [u8],
    pub(crate) rest: &'b str,
    pub(crate) rewrites_host: bool,
    pub(crate) te_trailers: bool,
    pub(crate) credentials: bool,
    /// The value of Max-Forwards, in TRACE and OPTIONS only.
    pub(crate) max_forwards: Option<u32>,
    pub(crate) received: &'static str,
    /// Connection names a field of the request that the balancer has no use for itself: no further hop sees it.
    pub hides_fields: bool,
    pub(crate) dropped: FieldSet,
    pub(crate) conditional: FieldSet,
}

impl<'b, 's> ParsedRequestHead<'b, 's> {
    /// The end-to-end fields without framing. Host is included unless an absolute-form target replaces it.
    pub fn forwarded_headers(&self) -> impl Iterator<Item = &'s Header<'b>> + use<'b, 's> {
        let dropped = self.dropped;
        let fields = self.headers.iter().enumerate();
        fields.filter(move |(at, _)| !dropped.contains(*at)).map(|(_, header)| header)
    }

    /// Fields whose names have other characters than letters, digits and `-`, by their place.
    pub fn unusual_names(&self) -> impl Iterator<Item = usize> + use<'b, 's> {
        let fields = self.headers.iter().enumerate();
        let unusual = fields.filter(|(_, header)| !is_usual_name(header.name.as_bytes()));
        unusual.map(|(at, _)| at)
    }

    /// Drops a field: no further hop sees it.
    pub fn drop_field(&mut self, at: usize) {
        self.dropped.insert(at);
    }

    /// The version in which it came, where that is not the one that its head was written in; as in Via.
    pub fn set_received_version(&mut self, version: &'static str) {
        self.received = version;
    }

    /// Whether the request may not be forwarded: the balancer answers it (RFC 9110 §7.6.2).
    pub fn is_final_recipient(&self) -> bool {
        self.max_forwards == Some(0)
    }

    /// Whether the client accepts trailers (`TE: trailers`).
    pub fn reads_trailers(&self) -> bool {
        self.te_trailers
    }

    /// Whether the request has Authorization or Proxy-Authorization.
    pub fn has_credentials(&self) -> bool {
        self.credentials
    }

    /// The path without the query; `*` for the asterisk-form.
    pub fn path(&self) -> &'b str {
        let path = self.rest.split('?').next().unwrap_or_default();
        if path.is_empty() { "/" } else { path }
    }

    /// The part of the target after the first `?`.
    pub fn query(&self) -> Option<&'b str> {
        self.rest.split_once('?').map(|(_, query)| query)
    }

    /// The properties of the request that the response parser needs.
    pub fn response_context(&self) -> ResponseContext {
        if self.method.is_head() {
            ResponseContext::Head
        } else if self.upgrade.is_some() {
            ResponseContext::Upgrade
        } else {
            ResponseContext::Other
        }
    }
}

/// Parses one request head at the start of `bytes`. `None`: more bytes are needed (see [`super::may_complete`]).
///
/// # Errors
///
/// The first violated rule, independent of how the bytes arrive. The caller responds with [`Defect::status`] and
/// closes: after a broken head the next message cannot be located.
#[inline]
pub fn parse_request<'b, 's>(
    bytes: &'b [u8],
    limits: &HeadLimits,
    slots: &'s mut HeaderSlots<'b>,
) -> Result<Option<ParsedRequestHead<'b, 's>>, Defect> {
    // Bytes beyond the limit are not read, so the result does not depend on how many have arrived.
    let window = bytes.get(..limits.head_bytes).unwrap_or(bytes);
    let Some(start) = leading_lines(window)? else { return Ok(None) };
    let window = &window[start..];
    let count = limits.head_count.min(HeaderSlots::COUNT);
    let mut raw = httparse::Request::new(&mut []);
    let parsed = ParserConfig::default().parse_request_with_uninit_headers(
        &mut raw,
        window,
        &mut slots.0[..count],
    );
    let len = match parsed {
        Ok(Status::Complete(len)) => len,
        Ok(Status::Partial) if bytes.len() < limits.head_bytes => return Ok(None),
        Ok(Status::Partial) => return Err(locate_defect::request_too_large(window)),
        Err(error) => return Err(locate_defect::request(window, error)),
    };
    let method = raw.method.unwrap_or_default();
    let target = raw.path.unwrap_or_default();
    let headers: &'s [Header<'b>] = raw.headers;
    let start_line = StartLine { method, target, version: HttpVersion::from_minor(raw.version) };
    interpret_head(start_line, headers, &window[..len], start, limits).map(Some)
}

struct StartLine<'b> {
    method: &'b str,
    target: &'b str,
    version: HttpVersion,
}

fn interpret_head<'b, 's>(
    line: StartLine<'b>,
    headers: &'s [Header<'b>],
    head: &'b [u8],
    start: usize,
    limits: &HeadLimits,
) -> Result<ParsedRequestHead<'b, 's>, Defect> {
    let StartLine { method, target, version } = line;
    let mut facts = HeadSummary::from_headers::<true>(head, headers)?;
    if method.len() > METHOD_BYTES {
        return Err(Defect::MethodTooLong);
    }
    if is_misspelled(method) {
        return Err(Defect::BadMethod);
    }
    if target.len() > limits.target_bytes {
        return Err(Defect::TargetTooLong);
    }
    let read = target::parse_target(method, target)?;
    let body = match facts.framing.resolve(version)? {
        MessageFraming::None => BodyKind::None,
        MessageFraming::Length(length) => BodyKind::Length(length),
        MessageFraming::Chunked => BodyKind::Chunked,
    };
    let has_body = !matches!(body, BodyKind::None | BodyKind::Length(0));
    if method == "TRACE" && has_body {
        return Err(Defect::TraceWithBody);
    }
    let host = host(&facts, version)?;
    if read.authority.is_some() && host.is_some() {
        facts.dropped.insert(facts.host_at);
    }
    if facts.connection.malformed {
        return Err(Defect::BadConnection);
    }
    let expect_continue = expectation(&facts, version, has_body)?;
    let upgrade = upgrade(&facts, version);
    let max_forwards = max_forwards(method, headers)?;
    let options = facts.connection;
    Ok(ParsedRequestHead {
        method: HttpMethod(method),
        target,
        version,
        headers,
        head_len: start + head.len(),
        body,
        keep_alive: !options.close && (version == HttpVersion::Http11 || options.keep_alive),
        expect_continue,
        upgrade,
        host: read.authority.or(host),
        head,
        rest: read.rest,
        rewrites_host: read.authority.is_some() || host.is_none(),
        te_trailers: facts.te_trailers,
        credentials: facts.credentials,
        max_forwards,
        received: version.as_str(),
        hides_fields: facts.hides_fields,
        dropped: facts.dropped,
        conditional: facts.conditional,
    })
}

/// Whether a method is a known one in another letter case. RFC 9110 §9.1 makes it a different method, but not every
/// server does.
fn is_misspelled(method: &str) -> bool {
    method.bytes().any(|byte| byte.is_ascii_lowercase())
        && METHODS.iter().any(|known| known.eq_ignore_ascii_case(method))
}

fn host<'b>(facts: &HeadSummary<'b>, version: HttpVersion) -> Result<Option<&'b str>, Defect> {
    match facts.host {
        None if version == HttpVersion::Http11 => Err(Defect::HostMissing),
        None => Ok(None),
        Some(value) if is_host(value) => {
            std::str::from_utf8(value).map(Some).map_err(|_| Defect::BadHost)
        }
        Some(_) => Err(Defect::BadHost),
    }
}

/// RFC 9110 §10.1.1: the expectation is ignored in HTTP/1.0 and without a body.
fn expectation(facts: &HeadSummary, version: HttpVersion, has_body: bool) -> Result<bool, Defect> {
    if facts.expects_other {
        return Err(Defect::ExpectUnknown);
    }
    Ok(facts.expects_continue && has_body && version == HttpVersion::Http11)
}

/// RFC 9110 §7.6.2: has a meaning for these two methods only. A number above `u32::MAX` is treated as `u32::MAX`.
fn max_forwards(method: &str, headers: &[Header]) -> Result<Option<u32>, Defect> {
    if !matches!(method, "TRACE" | "OPTIONS") {
        return Ok(None);
    }
    let mut said = headers.iter().filter(|header| is_max_forwards(header));
    let Some(Header { value, .. }) = said.next() else { return Ok(None) };
    if said.next().is_some() || value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Defect::BadValue);
    }
    let digit = |sum: u32, byte: &u8| sum.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
    Ok(Some(value.iter().fold(0, digit)))
}

pub(crate) fn is_max_forwards(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case("max-forwards")
}

/// RFC 9110 §7.8: ignored in HTTP/1.0, and without the Connection option.
fn upgrade<'b>(facts: &HeadSummary<'b>, version: HttpVersion) -> Option<&'b str> {
    let value = facts.upgrade?;
    if !facts.connection.upgrade || version == HttpVersion::Http10 {
        return None;
    }
    let is_h2c = |element: &[u8]| element.get(..3).is_some_and(|e| e.eq_ignore_ascii_case(b"h2c"));
    if super::token::elements(value).any(is_h2c) { None } else { std::str::from_utf8(value).ok() }
}
