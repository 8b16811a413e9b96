//! One call: a connection to the unix socket, a request, an answer of bounded size before a deadline.
//!
//! It knows HTTP and its errors, and nothing of what is said.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tokio::task::JoinHandle;

use crate::routes;
use crate::types::Problem;

/// A request.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is done.
    pub verb: Verb,
    /// Path and query.
    pub path: String,
    /// Of the body; empty when there is none.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

/// What a call may cost.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// From connecting to the answer's last byte.
    pub time: Duration,
    /// Of the answer's body.
    pub bytes: usize,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// There is no socket.
    #[error(
        "no daemon at {}: is it running? start it with `steelyard run`, or name its socket with --socket PATH",
        socket.display()
    )]
    Absent {
        /// Where it was looked for.
        socket: PathBuf,
    },
    /// There is a socket and nobody listens.
    #[error(
        "no daemon at {}: the socket is there but nobody listens, so the daemon that made it is gone; \
         start it with `steelyard run`",
        socket.display()
    )]
    Gone {
        /// Where it was looked for.
        socket: PathBuf,
    },
    /// The file's mode forbids it.
    #[error(
        "not allowed to use {}: run as the daemon's user or as a member of the group that owns the socket",
        socket.display()
    )]
    Denied {
        /// The socket.
        socket: PathBuf,
    },
    /// Connecting failed otherwise.
    #[error("cannot connect to {}: {source}", socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The answer was not complete in time.
    #[error("the daemon at {} did not answer {path} within {after:?}", socket.display())]
    TimedOut {
        /// The socket.
        socket: PathBuf,
        /// What was asked.
        path: String,
        /// The deadline.
        after: Duration,
    },
    /// The connection ended before the answer did.
    #[error("the daemon at {} closed the connection before it had answered {path}", socket.display())]
    Closed {
        /// The socket.
        socket: PathBuf,
        /// What was asked.
        path: String,
    },
    /// What answers does not speak HTTP.
    #[error("what listens at {} does not speak HTTP: {source}; is it a steelyard daemon?", socket.display())]
    NotHttp {
        /// The socket.
        socket: PathBuf,
        /// Why.
        source: hyper::Error,
    },
    /// The answer is larger than allowed.
    #[error("the answer to {path} is larger than {limit} bytes")]
    TooLarge {
        /// What was asked.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// The answer is of another kind.
    #[error(
        "the answer to {path} is '{found}' where '{expected}' was expected; is it a steelyard daemon?"
    )]
    ContentType {
        /// What was asked.
        path: String,
        /// Of the answer.
        found: String,
        /// Of the route.
        expected: &'static str,
    },
    /// The answer is not what the route gives.
    #[error(
        "the answer to {path} cannot be read: {source}; do the daemon and this program have the same version?"
    )]
    Decode {
        /// What was asked.
        path: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The answer is not text.
    #[error("the answer to {path} is not UTF-8")]
    NotText {
        /// What was asked.
        path: String,
    },
    /// The request could not be written as JSON.
    #[error("cannot write the request as JSON: {0}")]
    Encode(serde_json::Error),
    /// The request could not be made: its path is no path.
    #[error("cannot make the request {path}: {source}")]
    Request {
        /// What was asked.
        path: String,
        /// Why.
        source: hyper::http::Error,
    },
    /// A refusal without an explanation.
    #[error("the daemon answered {path} with status {status} and no explanation")]
    Status {
        /// What was asked.
        path: String,
        /// What came.
        status: u16,
    },
    /// A refusal with an explanation.
    #[error("{}", sentence(.0))]
    Refused(Box<Problem>),
}

impl CallError {
    /// Whether the daemon itself answered no, rather than could not be asked.
    pub fn is_refusal(&self) -> bool {
        matches!(self, CallError::Refused(_))
    }
}

/// Sends `call` and returns the answer's text, which must be of the `expected` kind.
pub(super) async fn text(
    socket: &Path,
    call: Call,
    ceiling: Ceiling,
    expected: &'static str,
) -> Result<String, CallError> {
    let path = call.path.clone();
    let (status, content_type, body) =
        match tokio::time::timeout(ceiling.time, exchange(socket, call, ceiling)).await {
            Ok(done) => done?,
            Err(_) => {
                return Err(CallError::TimedOut {
                    socket: socket.to_owned(),
                    path,
                    after: ceiling.time,
                });
            }
        };
    if !status.is_success() {
        return Err(refusal(path, status, &content_type, &body));
    }
    if content_type != expected {
        return Err(CallError::ContentType { path, found: content_type, expected });
    }
    String::from_utf8(body.into()).map_err(|_| CallError::NotText { path })
}

/// The refusal's explanation, if it brings one.
fn refusal(path: String, status: StatusCode, content_type: &str, body: &[u8]) -> CallError {
    if content_type == routes::PROBLEM
        && let Ok(mut problem) = serde_json::from_slice::<Problem>(body)
    {
        problem.status = status.as_u16();
        return CallError::Refused(Box::new(problem));
    }
    CallError::Status { path, status: status.as_u16() }
}

/// Connects, asks and reads it all.
async fn exchange(
    socket: &Path,
    call: Call,
    ceiling: Ceiling,
) -> Result<(StatusCode, String, Bytes), CallError> {
    let path = call.path.clone();
    let (response, _driver) = asked(socket, call).await?;
    let status = response.status();
    let content_type = media_type(&response);
    match Limited::new(response.into_body(), ceiling.bytes).collect().await {
        Ok(body) => Ok((status, content_type, body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(CallError::TooLarge { path, limit: ceiling.bytes })
        }
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(source) => Err(failure(socket, &path, *source)),
            Err(_) => Err(CallError::Closed { socket: socket.to_owned(), path }),
        },
    }
}

/// Connects and asks; the answer's body is still to be read, and ends when the driver is dropped.
pub(super) async fn asked(
    socket: &Path,
    call: Call,
) -> Result<(Response<Incoming>, Driver), CallError> {
    let path = call.path.clone();
    let failed = |source: hyper::Error| failure(socket, &path, source);
    let stream =
        UnixStream::connect(socket).await.map_err(|source| connect_error(socket, source))?;
    let (mut sender, connection) =
        http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.map_err(failed)?;
    let driver = Driver(tokio::spawn(async move {
        // What ends the connection early is reported by the request that needed it.
        let _ = connection.await;
    }));
    let response = sender.send_request(request(call)?).await.map_err(failed)?;
    Ok((response, driver))
}

fn failure(socket: &Path, path: &str, source: hyper::Error) -> CallError {
    let (socket, path) = (socket.to_owned(), path.to_owned());
    if source.is_parse() {
        CallError::NotHttp { socket, source }
    } else {
        CallError::Closed { socket, path }
    }
}

/// Ends the connection's task when the call ends.
pub(super) struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn request(call: Call) -> Result<Request<Full<Bytes>>, CallError> {
    let method = match call.verb {
        Verb::Get => hyper::Method::GET,
        Verb::Post => hyper::Method::POST,
    };
    let mut request = Request::builder()
        .method(method)
        .uri(&call.path)
        .header(HOST, "steelyard")
        .header(ACCEPT, "*/*");
    if !call.content_type.is_empty() {
        request = request.header(CONTENT_TYPE, call.content_type);
    }
    request
        .body(Full::new(Bytes::from(call.body)))
        .map_err(|source| CallError::Request { path: call.path, source })
}

/// The answer's media type without parameters, in lower case.
pub(super) fn media_type(response: &Response<Incoming>) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

fn connect_error(socket: &Path, source: io::Error) -> CallError {
    let socket = socket.to_owned();
    match source.kind() {
        io::ErrorKind::NotFound => CallError::Absent { socket },
        io::ErrorKind::ConnectionRefused => CallError::Gone { socket },
        io::ErrorKind::PermissionDenied => CallError::Denied { socket },
        _ => CallError::Connect { socket, source },
    }
}

/// A problem in one sentence, with the advice if there is any.
fn sentence(problem: &Problem) -> String {
    let what = match (problem.detail.as_str(), problem.title.as_str()) {
        ("", "") => {
            format!("the daemon answered with status {} and no explanation", problem.status)
        }
        ("", title) => title.to_owned(),
        (detail, _) => detail.to_owned(),
    };
    match &problem.advice {
        Some(advice) => format!("{what}; {advice}"),
        None => what,
    }
}
