//! Handles a malformed request: sends a response where possible, and always counts and logs it.

use std::borrow::Cow;

use model::cause::Cause;
use wire::http1::{Defect, DefectDetail};

use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::{ExchangeRecord, FIELD, FOUND, HOST};
use crate::exchange::ExchangeContext;
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::local_reply::{self, LocalReply};
use crate::rt::NetDriver;
use crate::worker::authentication::key_parameter;

/// Why no request was read.
pub enum RequestReadError {
    /// No byte: the client ended or left between requests, or the idle timeout passed.
    Empty,
    /// The client's input ended in the middle of a head.
    Truncated,
    /// The head exceeded the header timeout.
    TooSlow,
    /// No complete request arrived before draining ended.
    Drained,
    /// The head violates a rule.
    Malformed(MalformedRequest),
}

/// A head that violates a rule, with the start of the request and the violation for the log.
pub struct MalformedRequest {
    defect: Defect,
    /// The first line, up to the length that is logged.
    request_line: Vec<u8>,
    host: Vec<u8>,
    field: Vec<u8>,
    at: Option<usize>,
    found: Vec<u8>,
}

/// Most bytes of a first line that are stored for the log.
/// A target of 1,024 bytes, a method of 32, and the version.
const MAX_LOGGED_LINE: usize = 1_088;

/// Most bytes that are logged as the method.
/// The longest method that the parser accepts.
const METHOD: usize = 32;

impl RequestReadError {
    /// A head that violates a rule; `bytes` start with its first line.
    pub fn malformed(defect: Defect, bytes: &[u8]) -> RequestReadError {
        let shown = bytes.get(..MAX_LOGGED_LINE).unwrap_or(bytes);
        let line = shown.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let DefectDetail { host, field, field_offset: at, found_bytes: found } =
            DefectDetail::locate(defect, bytes);
        RequestReadError::Malformed(MalformedRequest {
            defect,
            request_line: without_userinfo(line),
            host: clip(host, HOST),
            field: clip(field, FIELD),
            at,
            found: clip(found, FOUND),
        })
    }
}

/// The first line without the user information that its target may contain.
fn without_userinfo(line: &[u8]) -> Vec<u8> {
    let mut line = line.to_vec();
    let scheme = line.windows(3).position(|three| three == b"://");
    let Some(from) = scheme.filter(|at| !line[..*at].contains(&b'/')).map(|at| at + 3) else {
        return line;
    };
    let ends = |byte: &u8| matches!(byte, b'/' | b'?' | b' ');
    let authority = line[from..].iter().position(ends).unwrap_or(line.len() - from);
    if let Some(at) = line[from..from + authority].iter().rposition(|byte| *byte == b'@') {
        line.splice(from..from + at, *b"***");
    }
    line
}

/// The first `most` bytes, and one more, so that the log shows the truncation.
fn clip(bytes: &[u8], most: usize) -> Vec<u8> {
    bytes.get(..=most).unwrap_or(bytes).to_vec()
}

impl MalformedRequest {
    fn offence(&self) -> DefectDetail<'_> {
        DefectDetail {
            host: &self.host,
            field: &self.field,
            field_offset: self.at,
            found_bytes: &self.found,
        }
    }
}

/// The recognised parts of a first line.
#[derive(Debug, PartialEq, Eq)]
struct RequestLine<'l> {
    /// Empty if the line does not start with a method.
    method: &'l [u8],
    /// The whole line if it has no method.
    target: &'l [u8],
}

impl<'l> RequestLine<'l> {
    fn parse(line: &'l [u8]) -> RequestLine<'l> {
        let token = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        match line.iter().position(|byte| *byte == b' ') {
            Some(at @ 1..=METHOD) if line[..at].iter().all(token) => {
                let rest = line.get(at + 1..).unwrap_or_default();
                let target = rest.split(|byte| *byte == b' ').next().unwrap_or_default();
                RequestLine { method: &line[..at], target }
            }
            _ => RequestLine { method: b"", target: line },
        }
    }
}

/// Sends the response to a malformed request, and records it.
pub async fn answer_malformed<N: NetDriver>(
    parties: &ExchangeContext<'_, N>,
    instead: RequestReadError,
) -> ConnectionDisposition {
    let ExchangeContext { worker, client, client_peer: caller, service } = *parties;
    let view = service.view.borrow().clone();
    let slot = &view.stats.slots[worker.index];
    let (cause, status) = match &instead {
        RequestReadError::Empty => return ConnectionDisposition::Close,
        RequestReadError::Truncated => (Cause::ClientClosedRequest, 0),
        RequestReadError::Drained => (Cause::DrainCut, 0),
        RequestReadError::TooSlow => {
            (Cause::ClientHeaderTimeout, Cause::ClientHeaderTimeout.status())
        }
        RequestReadError::Malformed(MalformedRequest { defect, .. }) => {
            let defect = *defect;
            if let Some(count) = slot.defects.get(defect as usize) {
                count.add(1);
            }
            (cause_of(defect), defect.status())
        }
    };
    slot.counters.requests.add(1);
    let now = worker.rt.update_now();
    let mut record = ExchangeRecord::begin(now, now);
    record.cause = Some(cause);
    let mut line = RequestLine::parse(b"");
    let mut offence = DefectDetail::default();
    if let RequestReadError::Malformed(malformed) = &instead {
        record.defect = Some(malformed.defect.name());
        line = RequestLine::parse(&malformed.request_line);
        offence = malformed.offence();
    }
    let mut after = ConnectionDisposition::Close;
    if status > 0 {
        let answer = LocalReply { status, cause, keep_alive: false, head_only: false };
        after = local_reply::send_reply(worker, client, &view, &answer, b"", &mut record).await;
    }
    let request = match client.shared_protocol() {
        Some(protocol) => LoggedRequest::multiplexed(caller.peer, protocol),
        None => LoggedRequest::unreadable(caller.peer, view.config.forward),
    };
    let keys = &*view.config.auth_plan.key_parameters;
    let target = hide_keys(line.target, keys);
    let offence = hide_broken_key(offence, line.target, keys);
    let request = LoggedRequest { method: line.method, target: &target, offence, ..request };
    worker.close(&view, None, &mut record, &request);
    if matches!(after, ConnectionDisposition::KeepAlive) {
        ConnectionDisposition::Linger
    } else {
        after
    }
}

/// The target without the credentials that clients send in parameters of its query.
fn hide_keys<'t>(target: &'t [u8], keys: &[String]) -> Cow<'t, [u8]> {
    if !target.contains(&b'?') {
        return Cow::Borrowed(target);
    }
    keys.iter()
        .fold(Cow::Borrowed(target), |shown, key| Cow::Owned(key_parameter::hidden(&shown, key)))
}

/// What may be shown of a violation: in a request line with a query only its first byte, since the bytes behind it may be
/// those of a credential.
fn hide_broken_key<'o>(
    offence: DefectDetail<'o>,
    target: &[u8],
    keys: &[String],
) -> DefectDetail<'o> {
    if keys.is_empty() || !offence.field.is_empty() || !target.contains(&b'?') {
        return offence;
    }
    let found_bytes = offence.found_bytes.get(..1).unwrap_or_default();
    DefectDetail { found_bytes, ..offence }
}

fn cause_of(defect: Defect) -> Cause {
    match defect {
        Defect::HeadTooLarge | Defect::TooManyFields => Cause::HeadTooLarge,
        Defect::TargetTooLong => Cause::TargetTooLong,
        _ => Cause::BadRequest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_is_shown_as_far_as_it_can_be_distinguished() {
        for (came, method, target) in [
            (&b"GET /a b HTTP/1.1\r\nHost: x\r\n"[..], "GET", "/a"),
            (b"GET /only-lf HTTP/1.1\nHost: x\n", "GET", "/only-lf"),
            (b"GET /cut", "GET", "/cut"),
            (b"GET  HTTP/1.1\r\n", "GET", ""),
            (b"G@T / HTTP/1.1\r\n", "", "G@T / HTTP/1.1"),
            (b" GET / HTTP/1.1\r\n", "", " GET / HTTP/1.1"),
            (b"\x16\x03\x01", "", "\x16\x03\x01"),
            (b"\r\nGET /", "", ""),
            (b"GET http://me:secret@x/y HTTP/1.1\r\n", "GET", "http://***@x/y"),
            (b"GET /to?http://me@x/ HTTP/1.1\r\n", "GET", "/to?http://me@x/"),
            (b"", "", ""),
        ] {
            let RequestReadError::Malformed(malformed) =
                RequestReadError::malformed(Defect::Malformed, came)
            else {
                panic!("another variant")
            };
            let line = RequestLine::parse(&malformed.request_line);
            let wanted = RequestLine { method: method.as_bytes(), target: target.as_bytes() };
            assert_eq!(line, wanted, "{came:?}");
        }
        let long = [b"GET /".as_slice(), &[b'a'; 100_000]].concat();
        let RequestReadError::Malformed(malformed) =
            RequestReadError::malformed(Defect::Malformed, &long)
        else {
            panic!("another variant")
        };
        assert_eq!(malformed.request_line.len(), MAX_LOGGED_LINE);
    }
}
