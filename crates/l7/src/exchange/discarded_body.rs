//! Reads the rest of a body that no client gets, so that the connection to the server can serve another request.

use std::rc::Rc;
use std::time::Duration;

use crate::conn::stream::StreamReadResult;
use crate::exchange::flow::{BodyFraming, ByteFlow};
use crate::rt::NetDriver;
use crate::upstream::{self, UpstreamLease};
use crate::worker::Worker;

/// Bytes of the rest.
/// Texts of errors are shorter; of a longer body the rest costs more than another connection.
const MAX_BYTES: usize = 64 * 1024;

/// How long the rest may take. The server counts as busy meanwhile.
/// Servers that send head and body apart do so within milliseconds.
const MAX_TIME: Duration = Duration::from_secs(1);

/// Reads what is left of the body, and returns the connection to the idle ones. Closes it if the rest is long or late.
pub fn discard_rest<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    lease: UpstreamLease<N>,
    unread: BodyFraming,
) {
    if matches!(unread, BodyFraming::Length(left) if left > MAX_BYTES as u64) {
        return;
    }
    let on = worker.clone();
    worker.rt.spawn(async move {
        lease.connection.stream.attach_current_task();
        if read_rest(&on, &lease, unread).await {
            upstream::return_connection(&on, lease);
        }
    });
}

/// Whether the body has ended, and nothing followed it.
async fn read_rest<N: NetDriver>(
    worker: &Worker<N>,
    lease: &UpstreamLease<N>,
    unread: BodyFraming,
) -> bool {
    let stream = &lease.connection.stream;
    let until = worker.rt.now() + MAX_TIME;
    let mut body = ByteFlow::<N>::new(unread, 0);
    let mut left = MAX_BYTES;
    while !body.framing.is_done() {
        let got = {
            let mut scratch = worker.scratch.borrow_mut();
            let scratch = &mut *scratch;
            match stream.try_read(&mut scratch.input) {
                StreamReadResult::Data(n) => {
                    scratch.output.clear();
                    let used = body.decode(&scratch.input[..n], &mut scratch.output);
                    if used != Ok(n) || n > left {
                        return false;
                    }
                    left -= n;
                    true
                }
                StreamReadResult::WouldBlock => false,
                StreamReadResult::End | StreamReadResult::Failed(_) => return false,
            }
        };
        if !got && stream.readable(until).await.is_err() {
            return false;
        }
    }
    true
}
