//! One request of a client's HTTP/2 connection: its head in the form of HTTP/1.1, and then the same exchange as any.
//!
//! It decides nothing about servers and moves no bytes.

use std::rc::Rc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use wire::http1::Defect;
use wire::http2::{Body, RequestHead, write_request};

use super::answering::{Answering, Made};
use super::link::OpenStream;
use super::upgrade;
use crate::after::After;
use crate::caller::Caller;
use crate::exchange::{Exchange, Parties};
use crate::incoming;
use crate::local::LocalService;
use crate::misread::{self, Instead};
use crate::rt::Net;
use crate::stream::{Read, Stream, UnderTls};
use crate::worker::Worker;

/// Bytes of a body that go with its head.
const WITH_HEAD: usize = 16 * 1024;

/// A request as it came.
pub struct Asked {
    /// The head, and where the body comes from.
    pub request: http::Request<RecvStream>,
    /// Where the answer goes.
    pub respond: SendResponse<Bytes>,
    /// The stream, being counted.
    pub open: OpenStream,
    /// Whose connection it is.
    pub caller: Rc<Caller>,
    /// What the connection has under TLS.
    pub tls: Rc<Option<UnderTls>>,
}

/// Serves it.
pub async fn serve<N: Net>(worker: Rc<Worker<N>>, service: Rc<LocalService<N>>, asked: Asked) {
    let Asked { request, respond, open, caller, tls } = asked;
    let began = worker.rt.now();
    let (parts, recv) = request.into_parts();
    let mut bytes = worker.buffers.take();
    let key = match parts.extensions.get::<h2::ext::Protocol>() {
        Some(_) => upgrade::key(&mut worker.rng.borrow_mut()),
        None => Vec::new(),
    };
    let written = write(&parts, recv.is_end_stream(), &key, &mut bytes);
    let head_only = parts.method == http::Method::HEAD;
    let form = *written.as_ref().unwrap_or(&Body::None);
    let made = Made { respond, recv, form, head_only };
    drop(parts);
    let strand = Answering::new(worker.rt.waker(), open, made, tls);
    let client = Stream::strand(&worker.rt, Box::new(strand));
    let parties = Parties { worker: &worker, client: &client, caller: &caller, service: &service };
    if matches!(form, Body::Length(_) | Body::Chunked) {
        came_with_it(&worker, &client, &mut bytes);
    }
    let mut held = Vec::new();
    let read = written.and_then(|_| {
        let view = service.view.borrow().clone();
        incoming::read(&worker, &view.config, &client, &caller, &bytes, &mut held)
    });
    let read = match read {
        Ok(Some(incoming)) => Ok(incoming),
        Ok(None) => Err(Instead::malformed(Defect::Malformed, &bytes)),
        Err(defect) => Err(Instead::malformed(defect, &bytes)),
    };
    worker.buffers.give(bytes);
    let after = match read {
        Ok(incoming) => Exchange::begin(parties, incoming, began, None).run(&mut held).await,
        Err(instead) => Box::pin(misread::refuse(&parties, instead)).await,
    };
    if after == After::Reset {
        client.reset();
    }
}

/// What of the body is there already goes with the head: together they can be sent again.
fn came_with_it<N: Net>(worker: &Worker<N>, client: &Stream<N>, bytes: &mut Vec<u8>) {
    let mut scratch = worker.scratch.borrow_mut();
    let mut left = WITH_HEAD;
    while left > 0 {
        let most = left.min(scratch.input.len());
        let Read::Data(n) = client.try_read(&mut scratch.input[..most]) else { return };
        bytes.extend_from_slice(&scratch.input[..n]);
        left -= n;
    }
}

/// Writes the head as HTTP/1.1.
fn write(
    parts: &http::request::Parts,
    ended: bool,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<Body, Defect> {
    let protocol = parts.extensions.get::<h2::ext::Protocol>();
    let head = RequestHead {
        method: parts.method.as_str().as_bytes(),
        scheme: parts.uri.scheme_str().map(str::as_bytes),
        authority: parts.uri.authority().map(|authority| authority.as_str().as_bytes()),
        path: parts.uri.path_and_query().map(|path| path.as_str().as_bytes()),
        protocol: protocol.map(|protocol| protocol.as_str().as_bytes()),
        ended,
    };
    let fields = parts.headers.iter().map(|(name, value)| {
        let name: &[u8] = name.as_str().as_bytes();
        (name, value.as_bytes())
    });
    write_request(&head, fields, key, out)
}
