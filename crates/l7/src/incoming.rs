//! A request as the exchange carries it: the head for the server, what of the body came with it, and facts.
//!
//! Made in one step from the bytes that the client sent, so that nothing borrows them across a wait. It sends
//! nothing.

use std::net::SocketAddr;

use model::compress::Asked;
use model::config::{Fanout, Precedence, Service};
use model::head::{Head, fields};
use model::line::Class;
use wire::http1::{
    self, BodyKind, Chunked, Defect, Emit, Identity, Limits, Offence, Request, RequestEdits,
    Reserved, Slots, Treatment, Version,
};

use crate::account::Protocol;
use crate::caller::Caller;
use crate::connection_auth;
use crate::flow::{Flow, Framing};
use crate::resend::ResendBody;
use crate::rt::Net;
use crate::said::Said;
use crate::stream::Stream;
use crate::traced::Place;
use crate::worker::Worker;

/// A request ready to be sent.
pub struct Incoming<N: Net> {
    /// The head in the server's form, followed by body bytes in the server's form that came with it.
    pub head: Vec<u8>,
    /// Bytes of the head as the client sent it.
    pub received: u64,
    /// The rest of the body.
    pub body: Flow<N>,
    /// Bytes of the body that were read later and are held behind the head.
    pub resend: ResendBody,
    /// The client's version; HTTP/1.1 for HTTP/2, whose requests have its form.
    pub version: Version,
    /// What the client spoke.
    pub protocol: Protocol,
    /// The client wants the connection kept.
    pub keep_alive: bool,
    /// HEAD: the answer has no body.
    pub head_only: bool,
    /// May be repeated (RFC 9110 §9.2.2).
    pub idempotent: bool,
    /// It authenticates the connection that it is sent on, or was asked to.
    pub authenticates: bool,
    /// The head says that the connection ends with the answer.
    pub says_close: bool,
    /// Asks for another protocol.
    pub upgrade: bool,
    /// It may go no further: we answer.
    pub ends_here: bool,
    /// Length of the method at the beginning of `head`.
    pub method_len: usize,
    /// Where the target lies in `head`.
    pub target: (usize, usize),
    /// The target as the client sent it, where a rule has changed it.
    pub asked: Option<Vec<u8>>,
    /// Its place in a trace, where traces are kept.
    pub place: Option<Place>,
}

impl<N: Net> Incoming<N> {
    /// Its class of priority: what a digit in the field that the service names says, or else the service.
    pub fn class(&self, terms: &Precedence) -> Class {
        let Some(name) = &terms.header else { return terms.class };
        match self.view().field(name.as_bytes()).next() {
            Some([digit @ b'0'..=b'9']) => digit - b'0',
            _ => terms.class,
        }
    }

    /// What the client said, for the log.
    pub fn said(&self, client: SocketAddr) -> Said<'_> {
        Said {
            client,
            protocol: self.protocol,
            method: self.head.get(..self.method_len).unwrap_or_default(),
            target: self.asked.as_deref().unwrap_or_else(|| self.target()),
            offence: Offence::default(),
        }
    }

    /// The host that it is for, as servers are told.
    pub fn host(&self) -> &[u8] {
        fields(&self.head, b"host").next().unwrap_or_default()
    }

    /// The target for the server.
    pub fn target(&self) -> &[u8] {
        self.head.get(self.target.0..self.target.1).unwrap_or_default()
    }

    /// The head for rules and what keeps clients.
    pub fn view(&self) -> Head<'_> {
        Head::new(&self.head, self.method_len, self.target)
    }

    /// How its answer may be coded.
    pub fn asked_coding(&self) -> Asked {
        Asked::read(fields(&self.head, b"accept-encoding"), fields(&self.head, b"cache-control"))
    }

    /// Takes out of the head that the client waits for a word before it sends its body; whether it does.
    pub fn forget_expectation(&mut self) -> bool {
        // As `emit_request` writes it.
        const LINE: &[u8] = b"\r\nExpect: 100-continue\r\n";
        let end = self.head.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0) + 2;
        let lines = self.head.get(..end).unwrap_or_default();
        let Some(at) = lines.windows(LINE.len()).position(|line| line == LINE) else {
            return false;
        };
        self.head.drain(at + 2..at + LINE.len());
        true
    }

    /// Says to the server that the connection ends with the answer, or takes that back.
    pub fn say_close(&mut self, closes: bool) {
        const LINE: &[u8] = b"Connection: close\r\n";
        if closes == self.says_close {
            return;
        }
        let at = self.head.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        match closes {
            true => drop(self.head.splice(at..at, LINE.iter().copied())),
            false => drop(self.head.drain(at..at + LINE.len())),
        }
        self.says_close = closes;
    }

    /// Puts another head, with what came behind it, in the place of this one; gives the old one back.
    pub fn replace(&mut self, head: Vec<u8>, target: (usize, usize)) -> Vec<u8> {
        self.asked.get_or_insert_with(|| {
            self.head.get(self.target.0..self.target.1).unwrap_or_default().to_vec()
        });
        self.target = target;
        std::mem::replace(&mut self.head, head)
    }
}

/// Reads one request from the beginning of `bytes`; `None`: more bytes are needed. Bytes of the next request go to
/// `rest`.
///
/// # Errors
/// The rule of grammar that was broken.
pub fn read<N: Net>(
    worker: &Worker<N>,
    service: &Service,
    client: &Stream<N>,
    caller: &Caller,
    bytes: &[u8],
    rest: &mut Vec<u8>,
) -> Result<Option<Incoming<N>>, Defect> {
    let limits = limits(service);
    let mut slots = Slots::new();
    let parsed = http1::parse_request(bytes, &limits, &mut slots)?;
    let Some(mut request) = parsed else { return Ok(None) };
    let protocol = match (client.shared_protocol(), request.version) {
        (Some(protocol), _) => protocol,
        (None, Version::Http10) => Protocol::Http10,
        (None, Version::Http11) => Protocol::Http11,
    };
    match protocol {
        Protocol::Http2 => request.received_as("2.0"),
        Protocol::Http3 => request.received_as("3.0"),
        _ => {}
    }
    let place = Place::of(worker, request.headers);
    let mut head = worker.buffers.take();
    let edits = RequestEdits {
        client: caller.peer,
        local: caller.local,
        scheme: if client.is_sealed() { "https" } else { "http" },
        trusted: service.trust.contains(caller.peer.ip()),
        x_forwarded: treatment(service.forwarded.x_forwarded),
        forwarded: treatment(service.forwarded.forwarded),
        via: service.forwarded.via.then_some(worker.options.node.as_str()),
        keep_upgrade: request.upgrade.is_some(),
        identity: identity(service, client),
        tracing: place.as_ref().map(Place::told),
    };
    http1::emit_request(&request, &edits, &mut head);
    // An upload keeps less than its answer, so that both together stay within the limit.
    let mut body = Flow::new(framing(&request, service), service.limit.connection_bytes / 4);
    let after = &bytes[request.head_len..];
    let used = body.decode(after, &mut head)?;
    let upgrade = request.upgrade.is_some();
    if upgrade && used < after.len() {
        return Err(Defect::EarlyUpgradeData);
    }
    let left = &after[used..];
    let incoming = Incoming {
        received: request.head_len as u64,
        body,
        resend: ResendBody::default(),
        says_close: false,
        version: request.version,
        protocol,
        keep_alive: request.keep_alive,
        head_only: request.method.is_head(),
        idempotent: request.method.is_idempotent(),
        authenticates: request.has_credentials() && connection_auth::is_given(request.headers),
        upgrade,
        ends_here: request.ends_here(),
        method_len: request.method.as_str().len(),
        target: target(&head),
        asked: None,
        place,
        head,
    };
    rest.clear();
    rest.extend_from_slice(left);
    Ok(Some(incoming))
}

/// What servers are told of the client's certificate, where any service tells them such a thing.
fn identity<'a, N: Net>(service: &'a Service, client: &'a Stream<N>) -> Option<Identity<'a>> {
    let prefixes = &*service.reserved.prefixes;
    (!prefixes.is_empty()).then(|| Identity { prefixes, lines: client.identity() })
}

/// The limits of a service's heads, as the codec wants them.
pub fn limits(service: &Service) -> Limits {
    Limits {
        head_bytes: service.limit.header_bytes as usize,
        head_count: usize::from(service.limit.header_count),
        target_bytes: service.limit.target_bytes as usize,
    }
}

fn framing(request: &Request, service: &Service) -> Framing {
    match request.body {
        BodyKind::None | BodyKind::Length(0) => Framing::Done,
        BodyKind::Length(n) => Framing::Length(n),
        BodyKind::Chunked => {
            let (chunked, ours) = (Chunked::new(Emit::Chunked), &service.reserved);
            let with = || Reserved { prefixes: ours.prefixes.clone(), names: ours.request.clone() };
            Framing::Chunked(Box::new(match ours.in_requests() {
                true => chunked.without(with()),
                false => chunked,
            }))
        }
    }
}

fn treatment(fanout: Fanout) -> Treatment {
    match fanout {
        Fanout::Keep => Treatment::Keep,
        Fanout::Append => Treatment::Append,
        Fanout::Replace => Treatment::Replace,
        Fanout::Remove => Treatment::Remove,
    }
}

/// The target in the request line that we have just written.
fn target(head: &[u8]) -> (usize, usize) {
    let start = head.iter().position(|b| *b == b' ').map_or(0, |at| at + 1);
    let length = head[start..].iter().position(|b| *b == b' ').unwrap_or(0);
    (start, start + length)
}
