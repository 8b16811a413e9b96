//! Runs the codec over a whole byte stream, for the corpus and the property tests.
//!
//! Results are text lines, so that a file can store them and two ways of feeding bytes can be compared.

use wire::http1::{
    BodyKind, ChunkedDecoder, ChunkedOutput, ConnectionPersistence, Defect, ForwardedPolicy,
    HeadLimits, HeaderSlots, HttpVersion, ParsedRequestHead, ParsedResponseHead, RequestEdits,
    ResponseBody, ResponseContext, ResponseEdits, emit_request, emit_response, parse_request,
    parse_response,
};

/// The result for a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// One line for each message.
    pub outcomes: Vec<String>,
    /// The bytes that are passed on.
    pub passed: Vec<u8>,
}

/// The edits that are applied in every case of the corpus.
pub fn request_edits() -> RequestEdits<'static> {
    RequestEdits {
        client: "192.0.2.7:5555".parse().unwrap(),
        hop: "192.0.2.7:5555".parse().unwrap(),
        local: "192.0.2.1:80".parse().unwrap(),
        scheme: "http",
        trusted: true,
        x_forwarded: ForwardedPolicy::Append,
        forwarded: ForwardedPolicy::Keep,
        via: Some("steelyard"),
        keep_upgrade: true,
        identity: None,
        request_id: None,
        tracing: None,
    }
}

/// Replays all requests of a client's stream.
pub fn requests(mut bytes: &[u8], limits: &HeadLimits) -> Replay {
    let mut replay = Replay::default();
    while !bytes.is_empty() {
        let mut slots = HeaderSlots::new();
        let request = match parse_request(bytes, limits, &mut slots) {
            Ok(Some(request)) => request,
            Ok(None) => return replay.end("incomplete".to_owned()),
            Err(defect) => return replay.end(refused("refused", defect)),
        };
        replay.outcomes.push(request_line(&request));
        emit_request(&request, &request_edits(), &mut replay.passed);
        let body = &bytes[request.head_len..];
        bytes = match request.body {
            BodyKind::None => body,
            BodyKind::Length(length) => match replay.counted(body, length) {
                Some(rest) => rest,
                None => return replay,
            },
            BodyKind::Chunked => match replay.chunked(body, ChunkedOutput::Chunked) {
                Some(rest) => rest,
                None => return replay,
            },
        };
    }
    replay
}

/// Replays all of a server's responses to one request.
pub fn answers(mut bytes: &[u8], asked: ResponseContext, client: HttpVersion) -> Replay {
    let mut replay = Replay::default();
    while !bytes.is_empty() {
        let mut slots = HeaderSlots::new();
        let answer = match parse_response(bytes, &HeadLimits::default(), &mut slots, asked) {
            Ok(Some(answer)) => answer,
            Ok(None) => return replay.end("incomplete".to_owned()),
            Err(defect) => return replay.end(refused("refused", defect)),
        };
        replay.outcomes.push(answer_line(&answer));
        let edits = ResponseEdits {
            client_version: client,
            persist: ConnectionPersistence::KeepAlive,
            via: Some("steelyard"),
            keep_upgrade: true,
            removed_headers: &[],
            removed_cookie: None,
            lines: b"",
        };
        emit_response(&answer, &edits, &mut replay.passed);
        let body = &bytes[answer.head_len..];
        let emit = if client == HttpVersion::Http10 {
            ChunkedOutput::Unframed
        } else {
            ChunkedOutput::Chunked
        };
        let rest = match answer.body {
            ResponseBody::None => Some(body),
            ResponseBody::Length(length) => replay.counted(body, length),
            ResponseBody::Chunked => replay.chunked(body, emit),
            ResponseBody::UntilClose => replay.counted(body, body.len() as u64),
        };
        match rest {
            Some(rest) if answer.is_interim() && answer.status != 101 => bytes = rest,
            Some([]) | None => return replay,
            Some(rest) => return replay.end(format!("left {}", rest.len())),
        }
    }
    replay
}

impl Replay {
    fn end(mut self, outcome: String) -> Replay {
        self.outcomes.push(outcome);
        self
    }

    fn counted<'b>(&mut self, body: &'b [u8], length: u64) -> Option<&'b [u8]> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.passed.extend_from_slice(body.get(..length).unwrap_or(body));
        if body.len() < length {
            self.outcomes.push("incomplete".to_owned());
        }
        body.get(length..)
    }

    fn chunked<'b>(&mut self, body: &'b [u8], emit: ChunkedOutput) -> Option<&'b [u8]> {
        match ChunkedDecoder::new(emit).feed(body, &mut self.passed) {
            Ok(fed) if fed.finished => return body.get(fed.consumed..),
            Ok(_) => self.outcomes.push("incomplete".to_owned()),
            Err(defect) => self.outcomes.push(refused("refused-body", defect)),
        }
        None
    }
}

fn refused(verb: &str, defect: Defect) -> String {
    format!("{verb} {} {}", defect.name(), defect.status())
}

pub fn request_line(request: &ParsedRequestHead) -> String {
    let body = match request.body {
        BodyKind::None => "none".to_owned(),
        BodyKind::Length(length) => format!("length:{length}"),
        BodyKind::Chunked => "chunked".to_owned(),
    };
    let mut line = format!(
        "accepted {} {} {} host={} body={body} persist={}",
        request.method.as_str(),
        request.target,
        request.version.as_str(),
        request.host.unwrap_or("-"),
        if request.keep_alive { "keep" } else { "close" },
    );
    if request.expect_continue {
        line.push_str(" continue");
    }
    if let Some(upgrade) = request.upgrade {
        line.push_str(" upgrade=");
        line.push_str(upgrade);
    }
    line
}

pub fn answer_line(answer: &ParsedResponseHead) -> String {
    let body = match answer.body {
        ResponseBody::None => "none".to_owned(),
        ResponseBody::Length(length) => format!("length:{length}"),
        ResponseBody::Chunked => "chunked".to_owned(),
        ResponseBody::UntilClose => "until-close".to_owned(),
    };
    let persist = if answer.keep_alive { "keep" } else { "close" };
    let status = answer.status;
    let version = answer.version.as_str();
    let mut line = format!("accepted {status} {version} body={body} persist={persist}");
    if let Some(seconds) = answer.keep_alive_timeout {
        line.push_str(&format!(" idle={seconds}"));
    }
    if let Some(upgrade) = answer.upgrade {
        line.push_str(" upgrade=");
        line.push_str(upgrade);
    }
    line
}
