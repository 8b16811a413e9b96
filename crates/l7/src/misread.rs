//! What came instead of a request: answered where that is possible, counted and logged in any case.
//!
//! It reads nothing and closes no connection.

use model::cause::Cause;
use wire::http1::{Defect, Offence};

use crate::account::{FIELD, FOUND, HOST, Record};
use crate::after::After;
use crate::exchange::Parties;
use crate::refuse::{self, Answer};
use crate::rt::Net;
use crate::said::Said;

/// What came instead of a request.
pub enum Instead {
    /// Nothing: the client ended or went away between requests, or idled too long.
    Nothing,
    /// The client ended in the middle of a head.
    Cut,
    /// A head that took too long.
    TooSlow,
    /// Nothing whole until draining ended.
    Drained,
    /// A head that breaks a rule.
    Malformed(Malformed),
}

/// A head that breaks a rule, with the beginning of what came and what broke it: whoever looks for the request finds it.
pub struct Malformed {
    defect: Defect,
    /// The first line, as far as it is shown.
    line: Vec<u8>,
    host: Vec<u8>,
    field: Vec<u8>,
    at: Option<usize>,
    found: Vec<u8>,
}

/// Bytes of a first line that are kept for the log.
const SHOWN: usize = 1_088;

/// Bytes of what is taken for a method.
const METHOD: usize = 32;

impl Instead {
    /// A head that breaks a rule; `bytes` begin with its first line.
    pub fn malformed(defect: Defect, bytes: &[u8]) -> Instead {
        let shown = bytes.get(..SHOWN).unwrap_or(bytes);
        let line = shown.split(|byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
        let Offence { host, field, at, found } = Offence::find(defect, bytes);
        Instead::Malformed(Malformed {
            defect,
            line: without_userinfo(line),
            host: clipped(host, HOST),
            field: clipped(field, FIELD),
            at,
            found: clipped(found, FOUND),
        })
    }
}

/// A first line without the user and the password that its target may begin with.
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

/// As much of it as is shown, and a byte more, so that the cut is seen.
fn clipped(bytes: &[u8], most: usize) -> Vec<u8> {
    bytes.get(..=most).unwrap_or(bytes).to_vec()
}

impl Malformed {
    fn offence(&self) -> Offence<'_> {
        Offence { host: &self.host, field: &self.field, at: self.at, found: &self.found }
    }
}

/// What of a first line can be told apart.
#[derive(Debug, PartialEq, Eq)]
struct RequestLine<'l> {
    /// Empty where the line begins with none.
    method: &'l [u8],
    /// All of the line where it has no method.
    target: &'l [u8],
}

impl<'l> RequestLine<'l> {
    fn of(line: &'l [u8]) -> RequestLine<'l> {
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

/// Answers what was no request.
pub async fn refuse<N: Net>(parties: &Parties<'_, N>, instead: Instead) -> After {
    let Parties { worker, client, caller, service } = *parties;
    let view = service.view.borrow().clone();
    let slot = &view.live.slots[worker.index];
    let (cause, status) = match &instead {
        Instead::Nothing => return After::Close,
        Instead::Cut => (Cause::ClientClosedRequest, 0),
        Instead::Drained => (Cause::DrainCut, 0),
        Instead::TooSlow => (Cause::ClientHeaderTimeout, Cause::ClientHeaderTimeout.status()),
        Instead::Malformed(Malformed { defect, .. }) => {
            let defect = *defect;
            if let Some(count) = slot.defects.get(defect as usize) {
                count.add(1);
            }
            (cause_of(defect), defect.status())
        }
    };
    slot.counters.requests.add(1);
    let now = worker.rt.look();
    let mut record = Record::begin(now, now);
    record.cause = Some(cause);
    let (mut line, mut offence) = (RequestLine::of(b""), Offence::default());
    if let Instead::Malformed(malformed) = &instead {
        record.defect = Some(malformed.defect.name());
        line = RequestLine::of(&malformed.line);
        offence = malformed.offence();
    }
    let mut after = After::Close;
    if status > 0 {
        let answer = Answer { status, cause, keep: false, head_only: false };
        after = refuse::answer(worker, client, &view, &answer, &mut record).await;
    }
    let said = match client.shared_protocol() {
        Some(protocol) => Said::strand(caller.peer, protocol),
        None => Said::nothing(caller.peer, view.config.forward),
    };
    let said = Said { method: line.method, target: line.target, offence, ..said };
    worker.close(&view, None, &mut record, &said);
    if matches!(after, After::Next) { After::Linger } else { after }
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
    fn what_came_is_shown_as_far_as_it_can_be_told_apart() {
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
            let Instead::Malformed(malformed) = Instead::malformed(Defect::Malformed, came) else {
                panic!("another variant")
            };
            let line = RequestLine::of(&malformed.line);
            let wanted = RequestLine { method: method.as_bytes(), target: target.as_bytes() };
            assert_eq!(line, wanted, "{came:?}");
        }
        let long = [b"GET /".as_slice(), &[b'a'; 100_000]].concat();
        let Instead::Malformed(malformed) = Instead::malformed(Defect::Malformed, &long) else {
            panic!("another variant")
        };
        assert_eq!(malformed.line.len(), SHOWN);
    }
}
