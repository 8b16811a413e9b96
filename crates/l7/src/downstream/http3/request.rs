//! One request of a client's HTTP/3 connection: its head is written as HTTP/1.1, and then it is served like any other.
//!
//! Servers are chosen elsewhere, and no body bytes are relayed here.

use std::rc::Rc;
use std::task::Poll;

use model::monotonic_time::MonotonicTime;
use quinn_proto::StreamId;
use wire::http1::Defect;
use wire::http2::Http1BodyFraming;
use wire::http3::{Http3Error, code, decode, is_extended_connect, write_request};

use super::body_frames::{BodyFault, Http3BodyFrames};
use super::downstream_stream::{Http3DownstreamStream, Http3DownstreamStreamParts};
use crate::conn::client_peer::ClientPeer;
use crate::conn::http2::upgrade;
use crate::conn::stream::{ProxyStream, StreamReadResult, TlsContext};
use crate::downstream::malformed_request::{self, RequestReadError};
use crate::downstream::quic::connection::QuicConnection;
use crate::downstream::quic::open_stream::OpenQuicStream;
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::incoming_request;
use crate::exchange::{ExchangeContext, HttpExchange};
use crate::rt::epoll::Epoll;
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;

/// Most body bytes that are read together with the head.
const EARLY_BODY_BYTES: usize = 16 * 1024;

/// A stream that a client has opened.
pub struct Http3Request {
    pub connection: Rc<QuicConnection>,
    pub id: StreamId,
    /// The client of the connection.
    pub client_peer: Rc<ClientPeer>,
    /// The TLS properties of the connection.
    pub tls: Rc<Option<TlsContext>>,
}

/// The result of reading the head.
enum Http3HeadOutcome {
    /// A head in HTTP/1.1, and the framing of its body.
    Head { form: Http1BodyFraming, head_only: bool },
    /// The request was not read; the error determines the response.
    Failed(RequestReadError),
    /// The connection or the stream is gone, so no response is sent.
    Nothing,
}

pub async fn serve(
    worker: Rc<Worker<Epoll>>,
    service: Rc<LocalService<Epoll>>,
    asked: Http3Request,
    open: OpenQuicStream,
) {
    let Http3Request { connection: link, id, client_peer, tls } = asked;
    link.attach(id, worker.rt.waker());
    let began = worker.rt.now();
    let most = service.view.borrow().config.limit.header_bytes as usize;
    let mut pieces = Http3BodyFrames::new(link.clone(), id, most);
    let mut bytes = worker.buffers.take();
    let came = read_head(&worker, &service, &mut pieces, &mut bytes).await;
    let (form, head_only) = match &came {
        Http3HeadOutcome::Head { form, head_only } => (*form, *head_only),
        Http3HeadOutcome::Failed(_) => (Http1BodyFraming::None, false),
        Http3HeadOutcome::Nothing => {
            worker.buffers.put(bytes);
            link.stop(id, code::REQUEST_INCOMPLETE);
            link.reset(id, code::REQUEST_INCOMPLETE);
            return link.detach(id);
        }
    };
    if let Http1BodyFraming::Length(length) = form {
        pieces.expect_length(length);
    }
    let made =
        Http3DownstreamStreamParts { connection: link, id, open, tls, pieces, form, head_only };
    let client = ProxyStream::from_multiplexed(
        &worker.rt,
        Box::new(Http3DownstreamStream::new(worker.rt.waker(), made)),
    );
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
    let read = match came {
        Http3HeadOutcome::Failed(instead) => Err(instead),
        _ => {
            let view = service.view.borrow().clone();
            match incoming_request::read(
                &worker,
                &view.config,
                &client,
                &client_peer,
                &bytes,
                &mut held,
            ) {
                Ok(Some(incoming)) => Ok(incoming),
                Ok(None) => Err(RequestReadError::malformed(Defect::Malformed, &bytes)),
                Err(defect) => Err(RequestReadError::malformed(defect, &bytes)),
            }
        }
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

/// Waits for the head and writes it to `out` as HTTP/1.1.
async fn read_head(
    worker: &Worker<Epoll>,
    service: &LocalService<Epoll>,
    pieces: &mut Http3BodyFrames,
    out: &mut Vec<u8>,
) -> Http3HeadOutcome {
    let most = service.view.borrow().config.limit.header_bytes as usize;
    let until = worker.rt.now() + service.view.borrow().config.timeout.header;
    let block = std::future::poll_fn(|_| {
        if let Poll::Ready(done) = pieces.poll_head() {
            return Poll::Ready(Some(done));
        }
        let until: MonotonicTime = until.min(service.cut_at.get());
        if worker.rt.now() >= until {
            return Poll::Ready(None);
        }
        worker.rt.wake_at(until);
        Poll::Pending
    });
    let block = match block.await {
        None if worker.rt.now() >= service.cut_at.get() => {
            return Http3HeadOutcome::Failed(RequestReadError::Drained);
        }
        None => return Http3HeadOutcome::Failed(RequestReadError::TooSlow),
        Some(Ok(Some(block))) => block,
        Some(Err(BodyFault::Malformed(defect))) if defect == Defect::HeadTooLarge => {
            return Http3HeadOutcome::Failed(RequestReadError::malformed(defect, b""));
        }
        // Either the connection is being closed with an error code, or the client is gone.
        Some(Ok(None) | Err(_)) => return Http3HeadOutcome::Nothing,
    };
    // Each field counts 32 bytes in addition to its text. The limit is larger than the configured one, so that such a
    // head can be rejected with the limit's name.
    let fields = u32::from(service.view.borrow().config.limit.header_count) as usize * 32;
    let fields = match decode(&block, most * 2 + fields) {
        Ok(fields) => fields,
        Err(Http3Error::TooLarge) => {
            return Http3HeadOutcome::Failed(RequestReadError::malformed(
                Defect::HeadTooLarge,
                b"",
            ));
        }
        Err(Http3Error::Connection(code)) => {
            pieces.fail_connection(code);
            return Http3HeadOutcome::Nothing;
        }
    };
    let key = match is_extended_connect(&fields) {
        true => upgrade::key(&mut worker.rng.borrow_mut()),
        false => Vec::new(),
    };
    match write_request(&fields, pieces.is_finished(), &key, out) {
        Ok(head) => Http3HeadOutcome::Head { form: head.body, head_only: head.head_only },
        Err(defect) => Http3HeadOutcome::Failed(RequestReadError::malformed(defect, out)),
    }
}

/// Reads the available body bytes together with the head: a retry can send both again.
fn read_early_body(worker: &Worker<Epoll>, client: &ProxyStream<Epoll>, bytes: &mut Vec<u8>) {
    let mut scratch = worker.scratch.borrow_mut();
    let mut left = EARLY_BODY_BYTES;
    while left > 0 {
        let most = left.min(scratch.input.len());
        let StreamReadResult::Data(n) = client.try_read(&mut scratch.input[..most]) else { return };
        bytes.extend_from_slice(&scratch.input[..n]);
        left -= n;
    }
}
