//! A scripted client: sends requests, parses the responses with the codec, and compares every byte.
//!
//! A client may be slow, split its requests, pipeline, or leave in the middle. Its results are recorded in notes that
//! the tests read.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use wire::http1::{
    self, ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ResponseBody, ResponseContext,
};

use super::server::body as pattern;
use super::world::{PeerEvent, PeerIo, ScriptedPeer};

/// The result of a request for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientOutcome {
    /// A complete response with the correct body; a local reply if it has a cause.
    Answer(u16, Option<String>),
    /// The connection ended before the response.
    Nothing,
    /// The connection ended in the middle of the response.
    Part,
    /// A wrong body or a malformed head.
    Wrong(String),
    /// The client left by itself.
    Abandoned,
}

/// A request to send.
#[derive(Clone, Debug)]
pub struct PlannedRequest {
    /// GET, HEAD, POST or PUT.
    pub method: &'static str,
    pub mode: &'static str,
    /// Length of the response's body in bytes.
    pub size: u64,
    /// Length of the request's body in bytes.
    pub upload: u64,
    /// The request's body is chunked.
    pub chunked: bool,
    /// Identifies the request everywhere.
    pub id: u64,
    pub pause: Duration,
    /// The client leaves after sending the request; `true`: with a reset.
    pub leaves: Option<bool>,
}

impl PlannedRequest {
    /// A GET without delay, with a 300-byte response, whose client stays.
    pub fn get(id: u64, mode: &'static str) -> PlannedRequest {
        PlannedRequest {
            method: "GET",
            mode,
            size: 300,
            upload: 0,
            chunked: false,
            id,
            pause: Duration::ZERO,
            leaves: None,
        }
    }
}

/// A request and its result for the client.
#[derive(Clone, Debug)]
pub struct RequestNote {
    pub planned: PlannedRequest,
    pub saw: ClientOutcome,
}

/// The clients' results, by request.
pub type ClientNotes = Rc<RefCell<Vec<RequestNote>>>;

pub struct SimClient {
    notes: ClientNotes,
    to_send: VecDeque<PlannedRequest>,
    waiting: VecDeque<PlannedRequest>,
    out: Vec<u8>,
    inbox: Vec<u8>,
    pipelines: bool,
    resting: bool,
    finished: bool,
}

impl SimClient {
    /// A client with a plan. `pipelines`: the next request is sent without waiting for the response.
    pub fn new(notes: ClientNotes, plan: Vec<PlannedRequest>, pipelines: bool) -> SimClient {
        SimClient {
            notes,
            to_send: plan.into(),
            waiting: VecDeque::new(),
            out: Vec::new(),
            inbox: Vec::new(),
            pipelines,
            resting: false,
            finished: false,
        }
    }

    fn note(&mut self, planned: PlannedRequest, saw: ClientOutcome) {
        self.notes.borrow_mut().push(RequestNote { planned, saw });
    }

    fn send(&mut self, io: &mut PeerIo, rested: bool) {
        while self.out.is_empty() && (self.waiting.is_empty() || self.pipelines) {
            let Some(next) = self.to_send.front() else { break };
            if !next.pause.is_zero() && !rested && !self.resting {
                self.resting = true;
                return io.set_timer(next.pause);
            }
            if self.resting && !rested {
                return;
            }
            self.resting = false;
            let Some(next) = self.to_send.pop_front() else { break };
            self.out.extend(render(&next, io));
            let leaves = next.leaves;
            self.waiting.push_back(next);
            io.write(&mut self.out);
            if let Some(reset) = leaves {
                return self.leave(io, reset);
            }
            if rested {
                break;
            }
        }
        io.write(&mut self.out);
    }

    fn leave(&mut self, io: &mut PeerIo, reset: bool) {
        self.finished = true;
        io.close(reset);
        for planned in std::mem::take(&mut self.waiting) {
            self.note(planned, ClientOutcome::Abandoned);
        }
        for planned in std::mem::take(&mut self.to_send) {
            self.note(planned, ClientOutcome::Abandoned);
        }
    }

    fn answers(&mut self, ended: bool) {
        while let Some(planned) = self.waiting.front().cloned() {
            match answer(&self.inbox, &planned, ended) {
                ResponseParse::More => return,
                ResponseParse::Saw(used, saw) => {
                    self.inbox.drain(..used);
                    self.waiting.pop_front();
                    self.note(planned, saw);
                }
            }
        }
    }

    fn finish(&mut self, io: &mut PeerIo) {
        self.finished = true;
        io.close(false);
        let part = !self.inbox.is_empty();
        for (at, planned) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            self.note(
                planned,
                if part && at == 0 { ClientOutcome::Part } else { ClientOutcome::Nothing },
            );
        }
        for planned in std::mem::take(&mut self.to_send) {
            self.note(planned, ClientOutcome::Nothing);
        }
    }
}

impl ScriptedPeer for SimClient {
    fn on_event(&mut self, what: PeerEvent, io: &mut PeerIo) {
        if self.finished {
            return;
        }
        self.inbox.extend(io.take());
        let ended = matches!(what, PeerEvent::End | PeerEvent::Broken);
        self.answers(what == PeerEvent::End);
        if ended {
            return self.finish(io);
        }
        self.send(io, what == PeerEvent::Timer);
        if !self.finished
            && self.to_send.is_empty()
            && self.waiting.is_empty()
            && self.out.is_empty()
        {
            self.finish(io);
        }
    }
}

fn render(planned: &PlannedRequest, io: &mut PeerIo) -> Vec<u8> {
    let PlannedRequest { method, mode, size, id, upload, .. } = planned;
    let mut out = format!("{method} /{mode}/{size}/{id} HTTP/1.1\r\nHost: shop\r\n").into_bytes();
    let body = pattern(id + 1, *upload);
    if planned.chunked {
        out.extend(b"Transfer-Encoding: chunked\r\n\r\n");
        let mut rest = &body[..];
        while !rest.is_empty() {
            let n = 1 + io.below(rest.len() as u64) as usize;
            out.extend(format!("{n:x}\r\n").bytes());
            out.extend(&rest[..n]);
            out.extend(b"\r\n");
            rest = &rest[n..];
        }
        out.extend(b"0\r\n\r\n");
    } else {
        if *upload > 0 {
            out.extend(format!("Content-Length: {upload}\r\n").bytes());
        }
        out.extend(b"\r\n");
        out.extend(body);
    }
    out
}

enum ResponseParse {
    More,
    Saw(usize, ClientOutcome),
}

fn answer(bytes: &[u8], planned: &PlannedRequest, ended: bool) -> ResponseParse {
    let asked =
        if planned.method == "HEAD" { ResponseContext::Head } else { ResponseContext::Other };
    let mut from = 0;
    loop {
        let mut slots = HeaderSlots::new();
        let response = match http1::parse_response(
            &bytes[from..],
            &HeadLimits::default(),
            &mut slots,
            asked,
        ) {
            Ok(Some(response)) => response,
            Ok(None) => return ResponseParse::More,
            Err(defect) => {
                return ResponseParse::Saw(bytes.len(), ClientOutcome::Wrong(defect.to_string()));
            }
        };
        from += response.head_len;
        if response.status < 200 {
            continue;
        }
        let cause = response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("x-steelyard-cause"))
            .map(|header| String::from_utf8_lossy(header.value).into_owned());
        let rest = &bytes[from..];
        let (body, used) = match response.body {
            ResponseBody::None => (Vec::new(), 0),
            ResponseBody::Length(n) if rest.len() as u64 >= n => {
                (rest[..n as usize].to_vec(), n as usize)
            }
            ResponseBody::Length(_) => return ResponseParse::More,
            // The body cannot be complete yet.
            ResponseBody::Chunked if cause.is_none() && (rest.len() as u64) < planned.size => {
                return ResponseParse::More;
            }
            ResponseBody::Chunked => {
                let mut out = Vec::new();
                match ChunkedDecoder::new(ChunkedOutput::Unframed).feed(rest, &mut out) {
                    Ok(fed) if fed.finished => (out, fed.consumed),
                    Ok(_) => return ResponseParse::More,
                    Err(defect) => {
                        return ResponseParse::Saw(
                            bytes.len(),
                            ClientOutcome::Wrong(defect.to_string()),
                        );
                    }
                }
            }
            ResponseBody::UntilClose if ended => (rest.to_vec(), rest.len()),
            ResponseBody::UntilClose => return ResponseParse::More,
        };
        let wanted = if planned.method == "HEAD" { 0 } else { planned.size };
        let right = body == pattern(planned.id, wanted);
        let saw = if right || cause.is_some() {
            ClientOutcome::Answer(response.status, cause)
        } else {
            ClientOutcome::Wrong(format!("a body of {} bytes, not that of {planned:?}", body.len()))
        };
        return ResponseParse::Saw(from + used, saw);
    }
}
