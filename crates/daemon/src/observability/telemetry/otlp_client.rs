//! One export to the collector: a connection, a request, its response before a deadline (OTLP/HTTP 1.x, in JSON).

use std::net::SocketAddr;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

pub const TRACES: &str = "/v1/traces";
/// Where log records go.
pub const LOGS: &str = "/v1/logs";
/// For all of it.
/// Spans are queued meanwhile, so a collector that hangs must not hold the export for longer.
const LIMIT: Duration = Duration::from_secs(5);
/// The largest answer that is read, bytes.
/// An answer reports rejected spans in one sentence.
const ANSWER: usize = 64 * 1024;

/// Why the collector did not accept a batch.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// No collector listens there.
    #[error("it cannot be connected to: {0}")]
    Connect(#[from] std::io::Error),
    /// It is no HTTP, or ended early.
    #[error("it does not answer as HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be made.
    #[error("it cannot be asked: {0}")]
    Request(#[from] http::Error),
    /// Another status than 2xx.
    #[error("it answered {0}")]
    Status(u16),
    #[error("it did not answer within {} s", LIMIT.as_secs())]
    Late,
}

/// Sends a batch.
///
/// # Errors
/// The batch was not accepted.
pub async fn post_batch(to: SocketAddr, path: &str, letter: &Value) -> Result<(), ExportError> {
    match tokio::time::timeout(LIMIT, exchange(to, path, letter)).await {
        Ok(done) => done,
        Err(_) => Err(ExportError::Late),
    }
}

async fn exchange(to: SocketAddr, path: &str, letter: &Value) -> Result<(), ExportError> {
    let stream = TcpStream::connect(to).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = http::Request::post(path)
        .header(HOST, to.to_string())
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(letter.to_string())))?;
    let driver = ConnectionTask(tokio::spawn(async move {
        // The pending request reports why a connection ended early.
        let _ = connection.await;
    }));
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    // The response is read to its end, so that the collector sees a complete exchange. Its content has no use here.
    let _ = Limited::new(answer.into_body(), ANSWER).collect().await;
    drop(driver);
    if status.is_success() { Ok(()) } else { Err(ExportError::Status(status.as_u16())) }
}

/// Ends the connection's task with the request.
struct ConnectionTask(JoinHandle<()>);

impl Drop for ConnectionTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}
