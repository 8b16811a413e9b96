//! Reads the server name (SNI) from the ClientHello of a TLS connection that is passed through.
//!
//! The bytes read are the first ones sent to the server, unchanged. A connection that does not start with a TLS record
//! has no server name. A connection with a malformed or late ClientHello is rejected: the server might find a name in
//! it that the rules did not see.

use std::task::Poll;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use wire::client_hello::{self, ClientHelloError, ClientHelloPeek};

use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::rt::{DeadlineError, NetDriver, Readiness};
use crate::servers::worker_state::LocalService;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// How long a client may take for its ClientHello.
/// Three retransmissions of a lost packet fit (1 + 2 + 4 s), as in `timeout.header`.
const HELLO_TIMEOUT: Duration = Duration::from_secs(10);

/// Most buffered bytes: the longest ClientHello in records, and what one read brings after it.
// The parser of ClientHellos reports an error before this limit.
const MAX_HELLO_BYTES: usize = client_hello::LONGEST + 8 * 1024;

/// Reads the server name that the client requests.
///
/// # Errors
/// The cause for closing: the client's connection ended, its ClientHello is malformed or late, or the service's
/// connections are being reset.
pub async fn peek_server_name<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    service: &LocalService<N>,
    open: &OpenConnection,
    first: &mut Vec<u8>,
) -> Result<Option<String>, Cause> {
    let until = worker.rt.now() + HELLO_TIMEOUT;
    loop {
        let got = {
            let mut scratch = worker.scratch.borrow_mut();
            // 4 KiB hold a usual hello, also with an ML-KEM key share of 1.2 KiB: one read is enough.
            let room = MAX_HELLO_BYTES.saturating_sub(first.len()).min(4 * 1024);
            let got = client.try_read(&mut scratch.input[..room]);
            if let StreamReadResult::Data(n) = &got {
                first.extend_from_slice(&scratch.input[..*n]);
            }
            got
        };
        if matches!(got, StreamReadResult::Data(n) if n == first.len()) {
            open.set_phase(AdmissionPhase::Head, worker.rt.now());
        }
        match got {
            StreamReadResult::Data(_) => match client_hello::parse_client_hello(first) {
                ClientHelloPeek::Partial if first.len() < MAX_HELLO_BYTES => {}
                ClientHelloPeek::Complete { name } => return Ok(name),
                ClientHelloPeek::Other(ClientHelloError::NotTls) => return Ok(None),
                ClientHelloPeek::Partial | ClientHelloPeek::Other(_) => {
                    return Err(Cause::TlsHandshake);
                }
            },
            // A client that half-closes without sending anything still gets a server, which may speak first.
            StreamReadResult::End => return Ok(None),
            StreamReadResult::Failed(_) => return Err(Cause::ClientReset),
            StreamReadResult::WouldBlock => {
                let waited = client.poll_until(|rt| {
                    if open.is_evicted() {
                        return Poll::Ready(Err(DeadlineError));
                    }
                    let until = until.min(service.cut_at.get());
                    rt.poll_ready(client.source(), Readiness::READ, until)
                });
                if waited.await.is_err() {
                    if open.is_evicted() {
                        return Err(Cause::ClientHeaderTimeout);
                    }
                    let cut = worker.rt.now() >= service.cut_at.get();
                    return Err(if cut { Cause::DrainCut } else { Cause::TlsHandshakeTimeout });
                }
            }
        }
    }
}
