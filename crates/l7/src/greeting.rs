//! The first bytes of a connection that passes through, read for the name that TLS asks for.
//!
//! They are kept and go to the server first, as they came. A connection that does not begin with a hello in time is one
//! that asked for no name.

use std::task::Poll;
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use wire::hello::{self, Hello};

use crate::admission::OpenConnection;
use crate::local::LocalService;
use crate::rt::{Expired, Net, Readiness};
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// How long a client may take for its hello.
const TIME: Duration = Duration::from_secs(10);

/// Bytes that are kept at most: the longest hello in records, and what a read brings behind it.
const MOST: usize = hello::LONGEST + 8 * 1024;

/// The name that the client asks for.
///
/// # Errors
/// The client's connection ended, or the service is cut.
pub async fn name<N: Net>(
    worker: &Worker<N>,
    client: &Stream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    first: &mut Vec<u8>,
) -> Result<Option<String>, Cause> {
    let until = worker.rt.now() + TIME;
    loop {
        let got = {
            let mut scratch = worker.scratch.borrow_mut();
            let room = MOST.saturating_sub(first.len()).min(4 * 1024);
            let got = client.try_read(&mut scratch.input[..room]);
            if let Read::Data(n) = &got {
                first.extend_from_slice(&scratch.input[..*n]);
            }
            got
        };
        if matches!(got, Read::Data(n) if n == first.len()) {
            open.set(Phase::Head, worker.rt.now());
        }
        match got {
            Read::Data(_) => match hello::client_hello(first) {
                Hello::Partial if first.len() < MOST => {}
                Hello::Whole { name } => return Ok(name),
                Hello::Partial | Hello::Other(_) => return Ok(None),
            },
            // Whoever ends without a word still gets a server's.
            Read::End => return Ok(None),
            Read::Failed(_) => return Err(Cause::ClientReset),
            Read::Later => {
                let waited = client.until(|rt| {
                    if open.is_given_up() {
                        return Poll::Ready(Err(Expired));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                });
                if waited.await.is_err() {
                    if open.is_given_up() {
                        return Err(Cause::ClientHeaderTimeout);
                    }
                    let cut = worker.rt.now() >= service.cut_at.get();
                    return if cut { Err(Cause::DrainCut) } else { Ok(None) };
                }
            }
        }
    }
}
