//! Local replies: responses that the balancer generates, and the lingering close for a client that still sends.
//!
//! A reply carries the cause, which the caller provides, and the id of the log line.

use std::time::Duration;

use model::cause::Cause;
use model::error_pages::{ErrorPage, without_body_fields};
use model::snapshot::ServiceView;
use wire::http1::{self, ConnectionPersistence, DirectResponse};

use crate::accounting::ExchangeRecord;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::exchange::disposition::ConnectionDisposition;
use crate::rt::NetDriver;
use crate::worker::Worker;

/// How long input is read after the last byte was sent. Closing with unread bytes would cause a reset that may discard
/// the response (RFC 9112 §9.6).
/// A round trip and a retransmission fit; the descriptor stays in use meanwhile.
const LINGER: Duration = Duration::from_secs(2);

/// Most bytes that are read and discarded meanwhile.
/// What a client sends within a round trip at 100 Mbit/s and 80 ms.
const LINGER_BYTES: usize = 1024 * 1024;

/// How long the client may take to read the small response.
/// Two retransmissions fit (1 + 2 s).
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes that the client must take a second beyond that.
/// A modem of 56 kbit/s takes more, and the largest page ends within 21 s.
const SLOWEST_BYTES: u64 = 4 * 1024;

/// A local reply.
#[derive(Clone, Copy, Debug)]
pub struct LocalReply {
    pub status: u16,
    /// The cause, which the response names.
    pub cause: Cause,
    /// The connection may carry another request.
    pub keep_alive: bool,
    /// A response to HEAD, without a body.
    pub head_only: bool,
}

/// How a page is sent in the place of a server's answer.
#[derive(Clone, Copy, Debug)]
pub struct PageReply {
    /// The connection may carry another request.
    pub keep_alive: bool,
    /// An answer to HEAD, without a body.
    pub head_only: bool,
}

/// Sends the service's page for the status, or a text. `lines`: fields beside, each line with its end.
pub async fn send_reply<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    view: &ServiceView,
    answer: &LocalReply,
    lines: &[u8],
    record: &mut ExchangeRecord,
) -> ConnectionDisposition {
    let mut out = worker.buffers.take();
    let persist = if answer.keep_alive {
        ConnectionPersistence::KeepAlive
    } else {
        ConnectionPersistence::Close
    };
    let id = record.id(&worker.ids);
    let page = view.error_pages.as_ref().and_then(|pages| pages.find(answer.status));
    match page {
        Some(page) => {
            let mut page_lines = page.lines_with(lines);
            for part in ["x-steelyard-cause: ", answer.cause.name(), "\r\nx-steelyard-id: "] {
                page_lines.extend_from_slice(part.as_bytes());
            }
            page_lines.extend_from_slice(id.as_str().as_bytes());
            page_lines.extend_from_slice(b"\r\n");
            let status = page.client_status(answer.status);
            let made = DirectResponse { status, lines: &page_lines, body: page.body() };
            http1::emit_direct_response(&made, persist, answer.head_only, &mut out);
            record.status = status;
            record.replaced_status = Some(answer.status);
        }
        None => {
            http1::emit_local_reply(
                answer.status,
                answer.cause.name(),
                id.as_str(),
                &without_body_fields(lines),
                persist,
                answer.head_only,
                &mut out,
            );
            record.status = answer.status;
        }
    }
    record.local_reply = true;
    write_reply(worker, client, view, out, answer.keep_alive, record).await
}

/// Sends a response that the configuration defines. One without a body gets the page of its status.
pub async fn send_rule_answer<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    view: &ServiceView,
    made: &DirectResponse<'_>,
    keep: bool,
    head_only: bool,
    record: &mut ExchangeRecord,
) -> ConnectionDisposition {
    let mut out = worker.buffers.take();
    let persist =
        if keep { ConnectionPersistence::KeepAlive } else { ConnectionPersistence::Close };
    let pages = view.error_pages.as_ref();
    record.status = made.status;
    match pages.and_then(|pages| pages.find(made.status)).filter(|_| made.body.is_empty()) {
        Some(page) => {
            record.status = page.client_status(made.status);
            record.replaced_status = Some(made.status);
            let lines = page.lines_with(made.lines);
            let made = DirectResponse { status: record.status, lines: &lines, body: page.body() };
            http1::emit_direct_response(&made, persist, head_only, &mut out);
        }
        None => http1::emit_direct_response(made, persist, head_only, &mut out),
    }
    record.local_reply = true;
    write_reply(worker, client, view, out, keep, record).await
}

/// Sends a page in the place of a server's answer. `lines`: fields beside.
pub async fn send_instead_of_answer<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    view: &ServiceView,
    page: &ErrorPage,
    lines: &[u8],
    answer: &PageReply,
    record: &mut ExchangeRecord,
) -> ConnectionDisposition {
    let mut out = worker.buffers.take();
    let PageReply { keep_alive: keep, head_only } = *answer;
    let persist =
        if keep { ConnectionPersistence::KeepAlive } else { ConnectionPersistence::Close };
    let lines = page.lines_with(lines);
    let made = DirectResponse { status: record.status, lines: &lines, body: page.body() };
    http1::emit_direct_response(&made, persist, head_only, &mut out);
    write_reply(worker, client, view, out, keep, record).await
}

async fn write_reply<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    view: &ServiceView,
    out: Vec<u8>,
    keep: bool,
    record: &mut ExchangeRecord,
) -> ConnectionDisposition {
    let sent = out.len() as u64;
    let until = worker.rt.now() + REPLY_TIMEOUT + Duration::from_secs(sent / SLOWEST_BYTES);
    let written = client.write_all(&out, until).await;
    worker.buffers.put(out);
    view.stats.slots[worker.index].counters.client_out.add(sent);
    record.bytes_to_client += sent;
    match written {
        Ok(()) if keep => ConnectionDisposition::KeepAlive,
        Ok(()) => ConnectionDisposition::Linger,
        Err(_) => ConnectionDisposition::Close,
    }
}

/// Ends the sending direction and continues to read for a while.
pub async fn linger<N: NetDriver>(worker: &Worker<N>, client: ProxyStream<N>) {
    client.end();
    let until = worker.rt.now() + LINGER;
    let mut left = LINGER_BYTES;
    while left > 0 {
        let got = client.try_read(&mut worker.scratch.borrow_mut().input);
        match got {
            StreamReadResult::Data(n) => left = left.saturating_sub(n),
            StreamReadResult::WouldBlock => {
                if client.readable(until).await.is_err() {
                    return;
                }
            }
            StreamReadResult::End | StreamReadResult::Failed(_) => return,
        }
    }
}
