//! One request of a client's HTTP/3 connection: its head in the form of HTTP/1.1, and then the same exchange as any.
//!
//! It decides nothing about servers and moves no bytes.

use std::rc::Rc;
use std::task::Poll;

use model::moment::Moment;
use quinn_proto::StreamId;
use wire::http1::Defect;
use wire::http2::Body;
use wire::http3::{Broken, asks_for_tunnel, code, decode, write_request};

use super::answering::{Answering, Made};
use super::pieces::{Pieces, Trouble};
use crate::after::After;
use crate::caller::Caller;
use crate::exchange::{Exchange, Parties};
use crate::http2::upgrade;
use crate::incoming;
use crate::local::LocalService;
use crate::misread::{self, Instead};
use crate::quic::link::{Link, Open};
use crate::rt::epoll::Epoll;
use crate::stream::{Read, Stream, UnderTls};
use crate::worker::Worker;

/// Bytes of a body that go with its head.
const WITH_HEAD: usize = 16 * 1024;

/// A stream that a client has opened.
pub struct Asked {
    /// Its connection.
    pub link: Rc<Link>,
    /// Which it is.
    pub id: StreamId,
    /// Whose connection it is.
    pub caller: Rc<Caller>,
    /// What the connection has under TLS.
    pub tls: Rc<Option<UnderTls>>,
}

/// What the head came to.
enum Came {
    /// A head in HTTP/1.1, and how its body comes.
    Head { form: Body, head_only: bool },
    /// What is to be answered instead.
    Instead(Instead),
    /// There is nobody to answer.
    Nothing,
}

/// Serves it.
pub async fn serve(
    worker: Rc<Worker<Epoll>>,
    service: Rc<LocalService<Epoll>>,
    asked: Asked,
    open: Open,
) {
    let Asked { link, id, caller, tls } = asked;
    link.attach(id, worker.rt.waker());
    let began = worker.rt.now();
    let most = service.view.borrow().config.limit.header_bytes as usize;
    let mut pieces = Pieces::new(link.clone(), id, most);
    let mut bytes = worker.buffers.take();
    let came = head(&worker, &service, &mut pieces, &mut bytes).await;
    let (form, head_only) = match &came {
        Came::Head { form, head_only } => (*form, *head_only),
        Came::Instead(_) => (Body::None, false),
        Came::Nothing => {
            worker.buffers.give(bytes);
            link.stop(id, code::REQUEST_INCOMPLETE);
            link.reset(id, code::REQUEST_INCOMPLETE);
            return link.detach(id);
        }
    };
    if let Body::Length(length) = form {
        pieces.expect(length);
    }
    let made = Made { link, id, open, tls, pieces, form, head_only };
    let client = Stream::strand(&worker.rt, Box::new(Answering::new(worker.rt.waker(), made)));
    let parties = Parties { worker: &worker, client: &client, caller: &caller, service: &service };
    if matches!(form, Body::Length(_) | Body::Chunked) {
        came_with_it(&worker, &client, &mut bytes);
    }
    let mut held = Vec::new();
    let read = match came {
        Came::Instead(instead) => Err(instead),
        _ => {
            let view = service.view.borrow().clone();
            match incoming::read(&worker, &view.config, &client, &caller, &bytes, &mut held) {
                Ok(Some(incoming)) => Ok(incoming),
                Ok(None) => Err(Instead::malformed(Defect::Malformed, &bytes)),
                Err(defect) => Err(Instead::malformed(defect, &bytes)),
            }
        }
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

/// Waits for the head and writes it as HTTP/1.1 to `out`.
async fn head(
    worker: &Worker<Epoll>,
    service: &LocalService<Epoll>,
    pieces: &mut Pieces,
    out: &mut Vec<u8>,
) -> Came {
    let most = service.view.borrow().config.limit.header_bytes as usize;
    let until = worker.rt.now() + service.view.borrow().config.timeout.header;
    let block = std::future::poll_fn(|_| {
        if let Poll::Ready(done) = pieces.poll_head() {
            return Poll::Ready(Some(done));
        }
        let until: Moment = until.min(service.cut_at.get());
        if worker.rt.now() >= until {
            return Poll::Ready(None);
        }
        worker.rt.wake_at(until);
        Poll::Pending
    });
    let block = match block.await {
        None if worker.rt.now() >= service.cut_at.get() => return Came::Instead(Instead::Drained),
        None => return Came::Instead(Instead::TooSlow),
        Some(Ok(Some(block))) => block,
        Some(Err(Trouble::Malformed(defect))) if defect == Defect::HeadTooLarge => {
            return Came::Instead(Instead::malformed(defect, b""));
        }
        // The connection ends, and says why; or nobody is there any more.
        Some(Ok(None) | Err(_)) => return Came::Nothing,
    };
    // Each field costs 32 bytes beside its text: room for what our own limit is to refuse by name.
    let fields = u32::from(service.view.borrow().config.limit.header_count) as usize * 32;
    let fields = match decode(&block, most * 2 + fields) {
        Ok(fields) => fields,
        Err(Broken::TooLarge) => {
            return Came::Instead(Instead::malformed(Defect::HeadTooLarge, b""));
        }
        Err(Broken::Connection(code)) => {
            pieces.fail(code);
            return Came::Nothing;
        }
    };
    let key = match asks_for_tunnel(&fields) {
        true => upgrade::key(&mut worker.rng.borrow_mut()),
        false => Vec::new(),
    };
    match write_request(&fields, pieces.is_over(), &key, out) {
        Ok(head) => Came::Head { form: head.body, head_only: head.head_only },
        Err(defect) => Came::Instead(Instead::malformed(defect, out)),
    }
}

/// What of the body is there already goes with the head: together they can be sent again.
fn came_with_it(worker: &Worker<Epoll>, client: &Stream<Epoll>, bytes: &mut Vec<u8>) {
    let mut scratch = worker.scratch.borrow_mut();
    let mut left = WITH_HEAD;
    while left > 0 {
        let most = left.min(scratch.input.len());
        let Read::Data(n) = client.try_read(&mut scratch.input[..most]) else { return };
        bytes.extend_from_slice(&scratch.input[..n]);
        left -= n;
    }
}
