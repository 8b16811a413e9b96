//! Why a call failed, in sentences for whoever called. It calls nobody.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::types::Problem;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
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
    NotListening {
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
    /// Nobody answers over TCP.
    #[error(
        "cannot reach {place}: {source}; does the daemon listen there (global.control.listen), and does the way let it \
         through?"
    )]
    Unreachable {
        /// Where.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// What answers over TCP is not known to be the daemon.
    #[error(
        "{place} is not trusted: {why}; name who signed its certificate with --ca FILE, or, if this is the daemon's \
         fingerprint, take it with --pin {fingerprint}"
    )]
    Untrusted {
        /// Where.
        place: String,
        /// Why.
        why: String,
        /// Of the certificate that was shown.
        fingerprint: String,
    },
    /// TLS failed otherwise.
    #[error("no TLS with {place}: {why}")]
    Handshake {
        /// Where.
        place: String,
        /// Why.
        why: String,
    },
    /// The answer was not complete in time.
    #[error("the daemon at {place} did not answer {path} within {after:?}")]
    TimedOut {
        /// Where it is.
        place: String,
        /// What was asked.
        path: String,
        /// The deadline.
        after: Duration,
    },
    /// The connection ended before the answer did.
    #[error("the daemon at {place} closed the connection before it had answered {path}")]
    Closed {
        /// Where it is.
        place: String,
        /// What was asked.
        path: String,
    },
    /// What answers does not speak HTTP.
    #[error("what listens at {place} does not speak HTTP: {source}; is it a steelyard daemon?")]
    NotHttp {
        /// Where it is.
        place: String,
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

impl ApiError {
    /// Whether the daemon itself answered no, rather than could not be asked.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ApiError::Refused(_))
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
