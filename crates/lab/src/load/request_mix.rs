//! Weighted kinds of requests with the expected responses.
//!
//! Writes them as HTTP/1.1 and selects the next kind. It reads no files.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::fail::FailureCause;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RequestMix {
    /// At least one kind, at most `MOST_SHOTS`.
    pub shots: Vec<RequestTemplate>,
}

/// A header field of a request. In JSON it is a list of name and value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(String, String)", into = "(String, String)")]
pub struct RequestField {
    pub name: String,
    pub value: String,
}

impl From<(String, String)> for RequestField {
    fn from((name, value): (String, String)) -> RequestField {
        RequestField { name, value }
    }
}

impl From<RequestField> for (String, String) {
    fn from(RequestField { name, value }: RequestField) -> (String, String) {
        (name, value)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RequestTemplate {
    /// The name in reports.
    pub name: String,
    /// Share of the requests, relative to the other weights; at least 1.
    pub weight: u32,
    /// The method, such as `GET`.
    pub method: String,
    /// The request target, such as `/cart?id=1`.
    pub target: String,
    /// The value of `Host`, without `scheme://`.
    pub host: String,
    /// Further header fields in order.
    pub fields: Vec<RequestField>,
    /// The body; empty: none.
    pub body: Arc<[u8]>,
    /// Closed loop: pause after the response.
    pub think: Duration,
    /// The expected response.
    pub expect: ResponseExpectation,
}

/// The expected response; `None` is not checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseExpectation {
    pub status: Option<u16>,
    /// Bytes of the body.
    pub bytes: Option<u64>,
    /// Text that the body must contain.
    pub text: Option<Arc<[u8]>>,
}

/// Why a mix is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MixError {
    /// No kinds of requests, or too many.
    #[error("{0} kinds of requests: between 1 and {MOST_SHOTS} are possible")]
    Count(usize),
    /// A weight of zero or beyond the limit.
    #[error("request `{0}`: its weight must be between 1 and {MOST_WEIGHT}")]
    Weight(String),
    /// A method, target, host or field that violates the request grammar.
    #[error("request `{name}`: {what} `{found}` is not allowed in a request (RFC 9112 section 3)")]
    Grammar { name: String, what: &'static str, found: String },
    /// A header field that the generator writes itself.
    #[error("request `{name}`: leave out the field `{field}`: it is written by the generator")]
    Framing { name: String, field: String },
    /// A body too large to hold one per connection.
    #[error("request `{0}`: its body may have at most {MOST_BODY} bytes")]
    Body(String),
}

impl RequestMix {
    /// Fails unless all requests are valid.
    pub fn check(&self) -> Result<(), MixError> {
        if !(1..=MOST_SHOTS).contains(&self.shots.len()) {
            return Err(MixError::Count(self.shots.len()));
        }
        self.shots.iter().try_for_each(RequestTemplate::check)
    }
}

impl RequestTemplate {
    /// A GET without further header fields.
    pub fn get(host: &str, target: &str) -> RequestTemplate {
        RequestTemplate {
            name: target.to_owned(),
            weight: 1,
            method: "GET".to_owned(),
            target: target.to_owned(),
            host: host.to_owned(),
            fields: Vec::new(),
            body: Arc::from(&b""[..]),
            think: Duration::ZERO,
            expect: ResponseExpectation::default(),
        }
    }

    /// Whether its response has no body, whatever the response's head announces.
    pub fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// The complete request as HTTP/1.1.
    pub fn http1(&self, close: bool) -> Vec<u8> {
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {}\r\n", self.method, self.target, self.host);
        for RequestField { name, value } in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if close {
            head.push_str("Connection: close\r\n");
        }
        if !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        head.push_str("\r\n");
        let mut whole = head.into_bytes();
        whole.extend_from_slice(&self.body);
        whole
    }

    fn check(&self) -> Result<(), MixError> {
        if !(1..=MOST_WEIGHT).contains(&self.weight) {
            return Err(MixError::Weight(self.name.clone()));
        }
        if self.body.len() > MOST_BODY {
            return Err(MixError::Body(self.name.clone()));
        }
        let grammar = |good: bool, what, found: &str| {
            let found = found.to_owned();
            if good {
                Ok(())
            } else {
                Err(MixError::Grammar { name: self.name.clone(), what, found })
            }
        };
        let graphic = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_graphic());
        grammar(is_token(&self.method), "the method", &self.method)?;
        let starts = self.target.starts_with('/') || self.target == "*";
        let short = self.target.len() <= MOST_TARGET;
        grammar(starts && short && graphic(&self.target), "the path", &self.target)?;
        grammar(graphic(&self.host), "the host", &self.host)?;
        for RequestField { name, value } in &self.fields {
            grammar(is_token(name), "the field's name", name)?;
            let plain = value.bytes().all(|b| b == b'\t' || (b >= b' ' && b != 0x7f));
            grammar(plain, "the field's value", value)?;
            if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
                return Err(MixError::Framing { name: self.name.clone(), field: name.clone() });
            }
        }
        Ok(())
    }
}

impl ResponseExpectation {
    /// The mismatch of a complete response with the expectation, the most informative first.
    pub fn check_response(
        &self,
        status: u16,
        bytes: u64,
        found_text: bool,
    ) -> Option<FailureCause> {
        match self.status {
            Some(expected) if expected != status => return Some(FailureCause::UnexpectedStatus),
            None if status >= 500 => return Some(FailureCause::ServerError),
            _ => {}
        }
        if self.bytes.is_some_and(|expected| expected != bytes) {
            return Some(FailureCause::UnexpectedSize);
        }
        (!found_text).then_some(FailureCause::UnexpectedText)
    }
}

/// Selects kinds in proportion to their weights, evenly spread and the same in every run.
#[derive(Clone, Debug)]
pub struct WeightedRotation {
    /// Cumulative weights.
    sums: Vec<u64>,
    total: u64,
    step: u64,
}

impl WeightedRotation {
    /// The weights must not all be 0.
    pub fn new(weights: impl Iterator<Item = u32>) -> WeightedRotation {
        let mut total = 0;
        let sums: Vec<u64> = weights
            .map(|weight| {
                total += u64::from(weight);
                total
            })
            .collect();
        let total = total.max(1);
        // A step near the golden ratio spreads the kinds best; a step coprime to the total visits every position once.
        let golden = (total as f64 * 0.618) as u64;
        let step = (golden.max(1)..).find(|step| is_coprime(*step, total)).unwrap_or(1);
        WeightedRotation { sums, total, step }
    }

    /// The kind of the request with this number.
    pub fn pick(&self, number: u64) -> usize {
        let place = (number % self.total) * self.step % self.total;
        self.sums.partition_point(|sum| *sum <= place)
    }
}

fn is_coprime(mut a: u64, mut b: u64) -> bool {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a == 1
}

fn is_token(text: &str) -> bool {
    let special = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || special(byte))
}

/// Header fields that frame a message or name its host.
const OURS: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];
/// Bounds the memory of a mix.
const MOST_SHOTS: usize = 1_000;
const MOST_WEIGHT: u32 = 1_000_000;
/// Bounds the memory of a mix: each thread holds a copy of the bodies.
const MOST_BODY: usize = 1 << 20;
/// The default limit of many servers.
const MOST_TARGET: usize = 8_192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_exact_and_spread() {
        let turns = WeightedRotation::new([70, 20, 10].into_iter());
        let mut counts = [0; 3];
        (0..1_000).for_each(|number| counts[turns.pick(number)] += 1);
        assert_eq!(counts, [700, 200, 100]);
        let longest = (0..1_000u64).collect::<Vec<_>>();
        let runs =
            longest.chunk_by(|a, b| turns.pick(*a) == turns.pick(*b)).map(<[u64]>::len).max();
        assert!(runs.unwrap() <= 6, "the light ones are not spread: {runs:?}");
        assert_eq!(WeightedRotation::new([1].into_iter()).pick(u64::MAX), 0);
    }

    #[test]
    fn requests_are_written_whole() {
        let mut shot = RequestTemplate::get("shop.example", "/cart");
        let accept = RequestField { name: "Accept".to_owned(), value: "text/html".to_owned() };
        shot.fields.push(accept);
        let text = String::from_utf8(shot.http1(false)).unwrap();
        assert_eq!(text, "GET /cart HTTP/1.1\r\nHost: shop.example\r\nAccept: text/html\r\n\r\n");
        shot.method = "POST".to_owned();
        shot.body = Arc::from(&b"a=1"[..]);
        let text = String::from_utf8(shot.http1(true)).unwrap();
        assert!(text.ends_with("Connection: close\r\nContent-Length: 3\r\n\r\na=1"), "{text}");
    }

    #[test]
    fn each_mistake_has_its_error() {
        let with = |change: &dyn Fn(&mut RequestTemplate)| {
            let mut shot = RequestTemplate::get("h", "/");
            change(&mut shot);
            RequestMix { shots: vec![shot] }.check()
        };
        assert_eq!(with(&|_| {}), Ok(()));
        assert_eq!(RequestMix::default().check(), Err(MixError::Count(0)));
        assert!(matches!(with(&|s| s.weight = 0), Err(MixError::Weight(_))));
        assert!(matches!(with(&|s| s.method = "G T".into()), Err(MixError::Grammar { .. })));
        assert!(matches!(with(&|s| s.target = "x".into()), Err(MixError::Grammar { .. })));
        assert!(matches!(with(&|s| s.host = "a\r\nb".into()), Err(MixError::Grammar { .. })));
        let field = |name: &str, value: &str| {
            let field = RequestField { name: name.to_owned(), value: value.to_owned() };
            with(&move |s| s.fields.push(field.clone()))
        };
        assert!(matches!(field("a b", "x"), Err(MixError::Grammar { .. })));
        assert!(matches!(field("a", "x\r\ny: z"), Err(MixError::Grammar { .. })));
        assert!(matches!(field("Content-length", "3"), Err(MixError::Framing { .. })));
        assert!(matches!(
            with(&|s| s.body = vec![0; MOST_BODY + 1].into()),
            Err(MixError::Body(_))
        ));
    }

    #[test]
    fn expectations_name_what_is_wrong() {
        let none = ResponseExpectation::default();
        assert_eq!(none.check_response(404, 9, true), None);
        assert_eq!(none.check_response(503, 9, true), Some(FailureCause::ServerError));
        let all = ResponseExpectation { status: Some(503), bytes: Some(9), text: None };
        assert_eq!(all.check_response(503, 9, true), None);
        assert_eq!(all.check_response(200, 9, true), Some(FailureCause::UnexpectedStatus));
        assert_eq!(all.check_response(503, 8, false), Some(FailureCause::UnexpectedSize));
        assert_eq!(all.check_response(503, 9, false), Some(FailureCause::UnexpectedText));
    }
}
