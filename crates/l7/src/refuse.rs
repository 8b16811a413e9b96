//! Answers of ours, and the careful end of a connection that still sends.
//!
//! An answer carries the cause and the id that the log has. It decides nothing: the caller knows the cause.

use std::time::Duration;

use model::cause::Cause;
use model::snapshot::ServiceView;
use wire::http1::{self, Made, Persist};

use crate::account::Record;
use crate::after::After;
use crate::rt::Net;
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// How long we go on reading after our last byte, so that the client gets it: closing with unread bytes would send
/// a reset that overtakes the answer (RFC 9112 §9.6).
const LINGER: Duration = Duration::from_secs(2);

/// Bytes that are read and dropped meanwhile.
const LINGER_BYTES: usize = 1024 * 1024;

/// How long the client may take to read our small answer.
const ANSWER: Duration = Duration::from_secs(5);

/// An answer of ours.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Named in the answer.
    pub cause: Cause,
    /// The connection may carry another request.
    pub keep: bool,
    /// Without a body: the answer to HEAD.
    pub head_only: bool,
}

/// Sends it.
pub async fn answer<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    view: &ServiceView,
    answer: &Answer,
    record: &mut Record,
) -> After {
    let mut out = worker.buffers.take();
    let persist = if answer.keep { Persist::KeepAlive } else { Persist::Close };
    let id = record.id(&worker.ids);
    http1::emit_error(
        answer.status,
        answer.cause.name(),
        id.as_str(),
        persist,
        answer.head_only,
        &mut out,
    );
    record.status = answer.status;
    give(worker, client, view, out, answer.keep, record).await
}

/// Sends an answer that the configuration makes.
pub async fn made<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    view: &ServiceView,
    made: &Made<'_>,
    (keep, head_only): (bool, bool),
    record: &mut Record,
) -> After {
    let mut out = worker.buffers.take();
    let persist = if keep { Persist::KeepAlive } else { Persist::Close };
    http1::emit_made(made, persist, head_only, &mut out);
    record.status = made.status;
    give(worker, client, view, out, keep, record).await
}

async fn give<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    view: &ServiceView,
    out: Vec<u8>,
    keep: bool,
    record: &mut Record,
) -> After {
    record.by_us = true;
    let written = client.write_all(&out, worker.rt.now() + ANSWER).await;
    let sent = out.len() as u64;
    worker.buffers.give(out);
    view.live.slots[worker.index].counters.client_out.add(sent);
    record.bytes_to_client += sent;
    match written {
        Ok(()) if keep => After::Next,
        Ok(()) => After::Linger,
        Err(_) => After::Close,
    }
}

/// Ends our side and reads on for a while.
pub async fn linger<N: Net>(worker: &Worker<N>, client: Stream<N>) {
    client.end();
    let until = worker.rt.now() + LINGER;
    let mut left = LINGER_BYTES;
    while left > 0 {
        let got = client.try_read(&mut worker.scratch.borrow_mut().input);
        match got {
            Read::Data(n) => left = left.saturating_sub(n),
            Read::Later => {
                if client.readable(until).await.is_err() {
                    return;
                }
            }
            Read::End | Read::Failed(_) => return,
        }
    }
}
