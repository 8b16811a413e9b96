//! One request of a client's HTTP/2 connection: its head is written as HTTP/1.1, and then it is served like any other.
//!
//! Servers are chosen elsewhere, and no body bytes are relayed here.

use std::rc::Rc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use wire::http1::Defect;
use wire::http2::{Http1BodyFraming, RequestHead, write_request};

use crate::conn::client_peer::ClientPeer;
use crate::conn::http2::connection::OpenStream;
use crate::conn::http2::upgrade;
use crate::conn::stream::{ProxyStream, StreamReadResult, TlsContext};
use crate::downstream::http2::downstream_stream::{
    Http2DownstreamStream, Http2DownstreamStreamParts,
};
use crate::downstream::malformed_request::{self, RequestReadError};
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::incoming_request;
use crate::exchange::{ExchangeContext, HttpExchange};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;

/// Most body bytes that are read together with the head.
/// One frame of the default size (RFC 9113 §4.2).
const EARLY_BODY_BYTES: usize = 16 * 1024;

/// A received request.
pub struct Http2Request {
    /// The head, and the source of the body.
    pub request: http::Request<RecvStream>,
    /// The target of the response.
    pub respond: SendResponse<Bytes>,
    /// The stream, counted as open.
    pub open: OpenStream,
    /// The client of the connection.
    pub client_peer: Rc<ClientPeer>,
    /// The TLS properties of the connection.
    pub tls: Rc<Option<TlsContext>>,
}

pub async fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    service: Rc<LocalService<N>>,
    asked: Http2Request,
) {
    let Http2Request { request, respond, open, client_peer, tls } = asked;
    let began = worker.rt.now();
    let (parts, recv) = request.into_parts();
    let mut bytes = worker.buffers.take();
    let key = match parts.extensions.get::<h2::ext::Protocol>() {
        Some(_) => upgrade::key(&mut worker.rng.borrow_mut()),
        None => Vec::new(),
    };
    let written = write_head(&parts, recv.is_end_stream(), &key, &mut bytes);
    let head_only = parts.method == http::Method::HEAD;
    let form = *written.as_ref().unwrap_or(&Http1BodyFraming::None);
    let made = Http2DownstreamStreamParts { respond, recv, form, head_only };
    drop(parts);
    let strand = Http2DownstreamStream::new(worker.rt.waker(), open, made, tls);
    let client = ProxyStream::from_multiplexed(&worker.rt, Box::new(strand));
    let parties = ExchangeContext {
        worker: &worker,
        client: &client,
        client_peer: &client_peer,
        service: &service,
    };
    if matches!(form, Http1BodyFraming::Length(_) | Http1BodyFraming::Chunked) {
        read_early_body(&worker, &client, &mut bytes);
    }
    let mut held = Vec::new();
    let read = written.and_then(|_| {
        let view = service.view.borrow().clone();
        incoming_request::read(&worker, &view, &client, &client_peer, &bytes, &mut held)
    });
    let read = match read {
        Ok(Some(incoming)) => Ok(incoming),
        Ok(None) => Err(RequestReadError::malformed(Defect::Malformed, &bytes)),
        Err(defect) => Err(RequestReadError::malformed(defect, &bytes)),
    };
    worker.buffers.put(bytes);
    let after = match read {
        Ok(incoming) => HttpExchange::begin(parties, incoming, began, None).run(&mut held).await,
        Err(instead) => Box::pin(malformed_request::answer_malformed(&parties, instead)).await,
    };
    if after == ConnectionDisposition::Reset {
        client.reset();
    }
}

/// Reads the available body bytes together with the head: a retry can send both again.
fn read_early_body<N: NetDriver>(worker: &Worker<N>, client: &ProxyStream<N>, bytes: &mut Vec<u8>) {
    let mut scratch = worker.scratch.borrow_mut();
    let mut left = EARLY_BODY_BYTES;
    while left > 0 {
        let most = left.min(scratch.input.len());
        let StreamReadResult::Data(n) = client.try_read(&mut scratch.input[..most]) else { return };
        bytes.extend_from_slice(&scratch.input[..n]);
        left -= n;
    }
}

/// Writes the head as HTTP/1.1.
fn write_head(
    parts: &http::request::Parts,
    ended: bool,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<Http1BodyFraming, Defect> {
    let protocol = parts.extensions.get::<h2::ext::Protocol>();
    let head = RequestHead {
        method: parts.method.as_str().as_bytes(),
        scheme: parts.uri.scheme_str().map(str::as_bytes),
        authority: parts.uri.authority().map(|authority| authority.as_str().as_bytes()),
        path: parts.uri.path_and_query().map(|path| path.as_str().as_bytes()),
        protocol: protocol.map(|protocol| protocol.as_str().as_bytes()),
        end_stream: ended,
    };
    let fields = parts.headers.iter().map(|(name, value)| {
        let name: &[u8] = name.as_str().as_bytes();
        (name, value.as_bytes())
    });
    write_request(&head, fields, key, out)
}
