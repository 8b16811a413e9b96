//! The first bytes of a connection that passes through, read for the name that TLS asks for.
//!
//! They are kept and go to the server first, as they came. A connection that does not begin with a record of TLS asked for
//! no name. One whose hello is unclear, or has not come in time, is refused: its server may yet find a name there that rules
//! did not see.

use std::task::Poll;
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use wire::hello::{self, Hello, NotHello};

use crate::admission::OpenConnection;
use crate::local::LocalService;
use crate::rt::{Expired, Net, Readiness};
use crate::stream::{Read, Stream};
use crate::worker::Worker;

/// How long a client may take for its hello.
const TIME: Duration = Duration::from_secs(10);

/// Bytes that are kept at most: the longest hello in records, and what a read brings behind it.
// The reader of hellos gives up before.
const MOST: usize = hello::LONGEST + 8 * 1024;

/// The name that the client asks for.
///
/// # Errors
/// The client's connection ended, its hello is unclear or late, or the service is cut.
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
                Hello::Other(NotHello::NotTls) => return Ok(None),
                Hello::Partial | Hello::Other(_) => return Err(Cause::TlsHandshake),
            },
            // Whoever ends without a word still gets a server's, and says none later.
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
                    return Err(if cut { Cause::DrainCut } else { Cause::TlsHandshakeTimeout });
                }
            }
        }
    }
}
