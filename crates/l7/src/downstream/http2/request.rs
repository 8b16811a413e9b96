//! One request of a client's HTTP/2 connection: its head is written as HTTP/1.1, and then it is served like any other.
//!
//! Servers are chosen elsewhere, and no body bytes are relayed here.

use std::rc::Rc;

use wire::field_section::FieldSection;
use wire::http1::Defect;
use wire::http2::{Http1BodyFraming, is_extended_connect, write_section};

use crate::conn::client_peer::ClientPeer;
use crate::conn::http2::connection::OpenStream;
use crate::conn::http2::upgrade;
use crate::conn::stream::{ProxyStream, StreamReadResult, TlsContext};
use crate::downstream::http2::downstream_stream::Http2DownstreamStream;
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
pub struct Http2Request<N: NetDriver> {
    /// The head.
    pub fields: FieldSection,
    /// The head has END_STREAM.
    pub end_stream: bool,
    /// The stream, counted as open.
    pub open: OpenStream<N>,
    /// The client of the connection.
    pub client_peer: Rc<ClientPeer>,
    /// The TLS properties of the connection.
    pub tls: Rc<Option<TlsContext>>,
}

pub async fn serve<N: NetDriver>(
    worker: Rc<Worker<N>>,
    service: Rc<LocalService<N>>,
    asked: Http2Request<N>,
) {
    let Http2Request { fields, end_stream, open, client_peer, tls } = asked;
    let began = worker.rt.now();
    open.attach_current_task();
    let mut bytes = worker.buffers.take();
    let key = match is_extended_connect(&fields) {
        true => upgrade::key(&mut worker.rng.borrow_mut()),
        false => Vec::new(),
    };
    let violation = Defect::Http2Protocol;
    let written = write_section(&fields, end_stream, &key, violation, &mut bytes);
    open.connection().machine().recycle(fields);
    let form = written.as_ref().map_or(Http1BodyFraming::None, |head| head.body);
    let head_only = written.as_ref().is_ok_and(|head| head.head_only);
    let stream = Http2DownstreamStream::new(open, form, head_only, tls);
    let client = ProxyStream::from_multiplexed(&worker.rt, Box::new(stream));
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
