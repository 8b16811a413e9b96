//! A request as the exchange uses it: the head for the server, the body bytes that arrived with it, and its properties.
//!
//! It is built in one step from the client's bytes, so that nothing borrows them across a wait.

use std::net::SocketAddr;
use std::ops::Range;

use model::client_address::FoundClient;
use model::compression::AcceptedEncodings;
use model::config::value_template::join_values;
use model::config::{FieldNamePolicy, ForwardedHeaderAction, RequestPriority, ServiceConfig};
use model::request_head::{ParsedHead, fields};
use model::snapshot::ServiceView;
use model::wait_queue::PriorityClass;
use wire::http1::{
    self, BodyKind, ChunkedDecoder, ChunkedOutput, Defect, DefectDetail, ForwardedPolicy,
    HeadLimits, HeaderSlots, HttpVersion, IdentityHeaders, ParsedRequestHead, RequestEdits,
    ReservedHeaders,
};

use crate::accounting::captured_fields::CapturedFields;
use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::{DownstreamProtocol, FurtherFacts};
use crate::conn::client_peer::ClientPeer;
use crate::conn::connection_auth;
use crate::conn::stream::ProxyStream;
use crate::exchange::flow::{BodyFraming, ByteFlow};
use crate::exchange::logged_fields;
use crate::exchange::named_client;
use crate::exchange::request_id::RequestIdValue;
use crate::exchange::resend::ResendBody;
use crate::exchange::trace_span::TraceSpan;
use crate::rt::NetDriver;
use crate::worker::Worker;

pub struct IncomingRequest<N: NetDriver> {
    /// The head for the server, followed by the body bytes that arrived with it, in the form for the server.
    pub head: Vec<u8>,
    /// Length of the client's head in bytes.
    pub received_bytes: u64,
    /// The rest of the body.
    pub body: ByteFlow<N>,
    /// Body bytes that were read later and are stored after the head.
    pub resend: ResendBody,
    /// The client's version; HTTP/1.1 for HTTP/2, whose requests are converted.
    pub version: HttpVersion,
    pub protocol: DownstreamProtocol,
    /// The client's connection is persistent.
    pub keep_alive: bool,
    /// HEAD: the response has no body.
    pub head_only: bool,
    /// The request may be repeated (RFC 9110 §9.2.2).
    pub idempotent: bool,
    /// The request authenticates its connection, or a server asked for that.
    pub authenticates: bool,
    /// The head contains `Connection: close`.
    pub says_close: bool,
    /// The request asks for another protocol.
    pub upgrade: bool,
    /// The request may not be forwarded: the balancer answers it.
    pub ends_here: bool,
    /// Fields that were dropped for their names.
    pub fields_dropped: u16,
    /// Length of the method at the beginning of `head`.
    pub method_len: usize,
    /// The place of the target in `head`.
    pub target: Range<usize>,
    /// The client's target, if a rule has changed it.
    pub original_target: Option<Vec<u8>>,
    /// What the client sent as X-Forwarded-For, joined, where a rule writes it.
    pub forwarded_for: Vec<u8>,
    /// The client that a trusted proxy named; `None`: it is the connection's peer.
    pub found_client: Option<Box<FoundClient>>,
    /// Its id, where the service has a field for it.
    pub request_id: Option<Box<RequestIdValue>>,
    /// Fields and cookies for the access log, where it has some.
    pub captured_fields: Option<Box<CapturedFields>>,
    /// Its span, where tracing is on.
    pub trace_span: Option<TraceSpan>,
}

impl<N: NetDriver> IncomingRequest<N> {
    /// The priority class: a digit in the configured field, or else the service's class.
    pub fn class(&self, terms: &RequestPriority) -> PriorityClass {
        let Some(name) = &terms.header else { return terms.class };
        match self.view().field(name.as_bytes()).next() {
            Some([digit @ b'0'..=b'9']) => digit - b'0',
            _ => terms.class,
        }
    }

    /// The address of its client: the one that a trusted proxy named, or the peer of the connection.
    pub fn client(&self, client_peer: &ClientPeer) -> SocketAddr {
        self.found_client.as_ref().map_or(client_peer.peer, |found| found.address)
    }

    /// The request for the log.
    pub fn logged_request<'r>(
        &'r self,
        client_peer: &ClientPeer,
        service: &'r ServiceConfig,
    ) -> LoggedRequest<'r> {
        LoggedRequest {
            client: self.client(client_peer),
            request_id: self.request_id.as_ref().and_then(|id| id.taken()),
            origin: named_client::client_origin(self.found_client.as_deref(), client_peer, service),
            protocol: self.protocol,
            method: self.head.get(..self.method_len).unwrap_or_default(),
            target: self.original_target.as_deref().unwrap_or_else(|| self.target()),
            offence: DefectDetail::default(),
            further: FurtherFacts {
                captured: self.captured_fields.as_deref(),
                ..FurtherFacts::default()
            },
        }
    }

    /// The Host for the server.
    pub fn host(&self) -> &[u8] {
        fields(&self.head, b"host").next().unwrap_or_default()
    }

    /// The target for the server.
    pub fn target(&self) -> &[u8] {
        self.head.get(self.target.clone()).unwrap_or_default()
    }

    /// The head for rules and affinity.
    pub fn view(&self) -> ParsedHead<'_> {
        ParsedHead::new(&self.head, self.method_len, self.target.clone())
    }

    /// The content codings that the client accepts.
    pub fn accepted_encodings(&self) -> AcceptedEncodings {
        AcceptedEncodings::parse_headers(
            fields(&self.head, b"accept-encoding"),
            fields(&self.head, b"cache-control"),
        )
    }

    /// Removes `Expect: 100-continue` from the head; returns whether it was there.
    pub fn remove_expectation(&mut self) -> bool {
        // In the form that `emit_request` writes.
        const LINE: &[u8] = b"\r\nExpect: 100-continue\r\n";
        let end = self.head.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0) + 2;
        let lines = self.head.get(..end).unwrap_or_default();
        let Some(at) = lines.windows(LINE.len()).position(|line| line == LINE) else {
            return false;
        };
        self.head.drain(at + 2..at + LINE.len());
        true
    }

    /// Adds `Connection: close` to the head, or removes it.
    pub fn set_close(&mut self, closes: bool) {
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

    /// Replaces the head and the bytes after it; returns the old buffer.
    pub fn replace(&mut self, head: Vec<u8>, target: Range<usize>) -> Vec<u8> {
        self.original_target
            .get_or_insert_with(|| self.head.get(self.target.clone()).unwrap_or_default().to_vec());
        self.target = target;
        std::mem::replace(&mut self.head, head)
    }
}

/// Reads one request from the start of `bytes`; `None`: more bytes are needed. Bytes of the next request are stored in
/// `rest`.
///
/// # Errors
/// The violated rule.
pub fn read<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    client: &ProxyStream<N>,
    client_peer: &ClientPeer,
    bytes: &[u8],
    rest: &mut Vec<u8>,
) -> Result<Option<IncomingRequest<N>>, Defect> {
    let service = &*view.config;
    let mut slots = HeaderSlots::new();
    let parsed = http1::parse_request(bytes, &limits(service), &mut slots)?;
    let Some(mut request) = parsed else { return Ok(None) };
    // Conditions see what servers see: a client could take a field out of their sight.
    if request.hides_fields && (view.rules.is_some() || view.edits.is_some()) {
        return Err(Defect::ConnectionProtected);
    }
    let fields_dropped = drop_unusual_names(&mut request, service.field_names)?;
    let protocol = downstream_protocol(client, &mut request);
    let place = TraceSpan::from_headers(worker, request.headers);
    let mut head = worker.buffers.take();
    let found_client = named_client::find_named_client(view, client_peer.peer, request.headers);
    let trusted = view.trusts(client_peer.peer.ip());
    let span = place.as_ref().map(|place| place.span);
    let request_id = RequestIdValue::find(worker, service, trusted, request.headers, span);
    let edits = RequestEdits {
        client: found_client.as_ref().map_or(client_peer.peer, |found| found.address),
        hop: client_peer.peer,
        local: client_peer.local,
        scheme: client.scheme(),
        trusted,
        x_forwarded: treatment(service.forwarded.x_forwarded),
        forwarded: treatment(service.forwarded.forwarded),
        via: service.forwarded.via.then_some(worker.options.node.as_str()),
        keep_upgrade: request.upgrade.is_some(),
        identity: identity_lines(service, client),
        request_id: request_id.as_ref().and_then(|id| id.header(service)),
        tracing: place.as_ref().map(TraceSpan::outgoing_context),
    };
    http1::emit_request(&request, &edits, &mut head);
    let body = begin_body(&request, service, &bytes[request.head_len..], &mut head, rest)?;
    let incoming = IncomingRequest {
        received_bytes: request.head_len as u64,
        body,
        resend: ResendBody::default(),
        says_close: false,
        version: request.version,
        protocol,
        keep_alive: request.keep_alive,
        head_only: request.method.is_head(),
        idempotent: request.method.is_idempotent(),
        authenticates: request.has_credentials()
            && connection_auth::request_authenticates(request.headers),
        upgrade: request.upgrade.is_some(),
        ends_here: request.is_final_recipient(),
        method_len: request.method.as_str().len(),
        fields_dropped,
        target: target(&head),
        original_target: None,
        forwarded_for: forwarded_for(view, &request),
        found_client,
        request_id,
        captured_fields: logged_fields::capture_fields(worker, service, request.headers),
        trace_span: place,
        head,
    };
    Ok(Some(incoming))
}

/// The body, of which `received` came with the head. What it decodes to is appended to the head, and what is behind it
/// becomes `rest`.
fn begin_body<N: NetDriver>(
    request: &ParsedRequestHead,
    service: &ServiceConfig,
    received: &[u8],
    head: &mut Vec<u8>,
    rest: &mut Vec<u8>,
) -> Result<ByteFlow<N>, Defect> {
    // The upload gets a smaller part of the limit than the response; both together stay within it.
    let mut body = ByteFlow::new(framing(request, service), service.limit.connection_bytes / 4);
    let used = body.decode(received, head)?;
    if request.upgrade.is_some() && used < received.len() {
        return Err(Defect::EarlyUpgradeData);
    }
    received[used..].clone_into(rest);
    Ok(body)
}

/// What came as X-Forwarded-For, where a rule or an edit writes it: in the head for the server it may be replaced.
fn forwarded_for(view: &ServiceView, request: &ParsedRequestHead) -> Vec<u8> {
    let mut joined = Vec::new();
    let by_rules = view.rules.as_ref().is_some_and(|rules| rules.table.wants_forwarded_for());
    if by_rules || view.edits.as_ref().is_some_and(|edits| edits.wants_forwarded_for()) {
        let own = request
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("x-forwarded-for"));
        join_values(own.map(|header| header.value.trim_ascii()), b", ", &mut joined);
    }
    joined
}

/// What the client spoke; the request is told too.
fn downstream_protocol<N: NetDriver>(
    client: &ProxyStream<N>,
    request: &mut ParsedRequestHead<'_, '_>,
) -> DownstreamProtocol {
    let protocol = match (client.shared_protocol(), request.version) {
        (Some(protocol), _) => protocol,
        (None, HttpVersion::Http10) => DownstreamProtocol::Http10,
        (None, HttpVersion::Http11) => DownstreamProtocol::Http11,
    };
    match protocol {
        DownstreamProtocol::Http2 => request.set_received_version("2.0"),
        DownstreamProtocol::Http3 => request.set_received_version("3.0"),
        _ => {}
    }
    protocol
}

/// Drops fields whose names have unusual characters, or refuses them; how many were dropped.
fn drop_unusual_names(
    request: &mut ParsedRequestHead<'_, '_>,
    policy: FieldNamePolicy,
) -> Result<u16, Defect> {
    if policy == FieldNamePolicy::Any {
        return Ok(0);
    }
    let mut dropped = 0;
    for at in request.unusual_names() {
        if policy == FieldNamePolicy::Refuse {
            return Err(Defect::UnusualName);
        }
        request.drop_field(at);
        dropped += 1;
    }
    Ok(dropped)
}

/// The header lines with the client's certificate, where any service sends such lines.
fn identity_lines<'a, N: NetDriver>(
    service: &'a ServiceConfig,
    client: &'a ProxyStream<N>,
) -> Option<IdentityHeaders<'a>> {
    let prefixes = &*service.reserved.prefixes;
    (!prefixes.is_empty()).then(|| IdentityHeaders { prefixes, lines: client.identity() })
}

/// The limits of a service's request heads.
pub fn limits(service: &ServiceConfig) -> HeadLimits {
    HeadLimits {
        head_bytes: service.limit.header_bytes as usize,
        head_count: usize::from(service.limit.header_count),
        target_bytes: service.limit.target_bytes as usize,
    }
}

fn framing(request: &ParsedRequestHead, service: &ServiceConfig) -> BodyFraming {
    match request.body {
        BodyKind::None | BodyKind::Length(0) => BodyFraming::Done,
        BodyKind::Length(n) => BodyFraming::Length(n),
        BodyKind::Chunked => {
            let chunked = ChunkedDecoder::new(ChunkedOutput::Chunked);
            let ours = &service.reserved;
            let unusual = service.field_names != FieldNamePolicy::Any;
            let with = || ReservedHeaders {
                prefixes: ours.prefixes.clone(),
                names: ours.request.clone(),
                unusual,
            };
            BodyFraming::Chunked(Box::new(match unusual || ours.applies_to_requests() {
                true => chunked.with_reserved(with()),
                false => chunked,
            }))
        }
    }
}

fn treatment(fanout: ForwardedHeaderAction) -> ForwardedPolicy {
    match fanout {
        ForwardedHeaderAction::Keep => ForwardedPolicy::Keep,
        ForwardedHeaderAction::Append => ForwardedPolicy::Append,
        ForwardedHeaderAction::Replace => ForwardedPolicy::Replace,
        ForwardedHeaderAction::Remove => ForwardedPolicy::Remove,
        ForwardedHeaderAction::Pass => ForwardedPolicy::Pass,
    }
}

/// The place of the target in a request line that the balancer has written.
fn target(head: &[u8]) -> Range<usize> {
    let start = head.iter().position(|b| *b == b' ').map_or(0, |at| at + 1);
    let length = head[start..].iter().position(|b| *b == b' ').unwrap_or(0);
    start..start + length
}
