//! Local replies: responses that the load balancer makes itself, and the lingering close of a client that still sends.
//!
//! A reply carries the cause and the id that the log has. The caller gives the cause.

use std::time::Duration;

use model::cause::Cause;
use model::snapshot::ServiceView;
use wire::http1::{self, ConnectionPersistence, DirectResponse};

use crate::accounting::ExchangeRecord;
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::exchange::disposition::ConnectionDisposition;
use crate::rt::NetDriver;
use crate::worker::Worker;

/// How long we go on reading after our last byte, so that the client gets it: closing with unread bytes would send
/// a reset that overtakes the answer (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that are read and dropped meanwhile.
const LINGER_BYTES: usize = 1024 * 1024;

/// How long the client may take to read our small answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// An answer of ours.
#[derive(Clone, Copy, Debug)]
pub struct LocalReply {
    pub status: u16,
    /// Named in the answer.
    pub cause: Cause,
    /// The connection may carry another request.
    pub keep_alive: bool,
    /// Without a body: the answer to HEAD.
    pub head_only: bool,
}

/// `lines`: fields beside, each line with its end.
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
    http1::emit_local_reply(
        answer.status,
        answer.cause.name(),
        id.as_str(),
        lines,
        persist,
        answer.head_only,
        &mut out,
    );
    record.status = answer.status;
    write_reply(worker, client, view, out, answer.keep_alive, record).await
}

/// Sends an answer that the configuration makes.
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
    http1::emit_direct_response(made, persist, head_only, &mut out);
    record.status = made.status;
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
    record.local_reply = true;
    let written = client.write_all(&out, worker.rt.now() + REPLY_TIMEOUT).await;
    let sent = out.len() as u64;
    worker.buffers.put(out);
    view.stats.slots[worker.index].counters.client_out.add(sent);
    record.bytes_to_client += sent;
    match written {
        Ok(()) if keep => ConnectionDisposition::KeepAlive,
        Ok(()) => ConnectionDisposition::Linger,
        Err(_) => ConnectionDisposition::Close,
    }
}

/// Ends our side and reads on for a while.
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
