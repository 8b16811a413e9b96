//! Errors of calls, in sentences for users. It makes no calls.

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
        /// The expected path.
        socket: PathBuf,
    },
    /// There is a socket, but no process listens.
    #[error(
        "no daemon at {}: the socket is there but nobody listens, so the daemon that made it is gone; \
         start it with `steelyard run`",
        socket.display()
    )]
    NotListening {
        /// The expected path.
        socket: PathBuf,
    },
    /// A file of another kind is in its place.
    #[error("no daemon at {}: this is no socket; name the daemon's with --socket PATH", socket.display())]
    NotSocket {
        /// The expected path.
        socket: PathBuf,
    },
    /// The file's mode forbids it.
    #[error(
        "not allowed to use {}: run as the daemon's user or as a member of the group that owns the socket",
        socket.display()
    )]
    Denied { socket: PathBuf },
    /// Connecting failed otherwise.
    #[error("cannot connect to {}: {source}", socket.display())]
    Connect { socket: PathBuf, source: io::Error },
    /// No daemon answers over TCP.
    #[error(
        "cannot reach {place}: {source}; does the daemon listen there (global.control.listen), and does every firewall \
         on the way let it through?"
    )]
    Unreachable { place: String, source: io::Error },
    /// The peer over TCP could not be verified as the daemon.
    #[error(
        "{place} is not trusted: {why}; name who signed its certificate with --ca FILE, or, if this is the daemon's \
         fingerprint, take it with --pin {fingerprint}"
    )]
    Untrusted {
        place: String,
        why: String,
        /// Of the certificate that was presented.
        fingerprint: String,
    },
    /// TLS failed otherwise.
    #[error("no TLS with {place}: {why}")]
    Handshake { place: String, why: String },
    /// The response was not complete in time.
    #[error("the daemon at {place} did not answer {path} within {after:?}")]
    TimedOut { place: String, path: String, after: Duration },
    /// The connection ended before the response did.
    #[error("the daemon at {place} closed the connection before it had answered {path}")]
    Closed { place: String, path: String },
    /// The peer does not speak HTTP.
    #[error(
        "what listens at {place} does not speak HTTP: is it a steelyard daemon? name its socket or address"
    )]
    NotHttp { place: String, source: hyper::Error },
    /// The response is larger than allowed.
    #[error("the answer to {path} is larger than {limit} bytes")]
    TooLarge { path: String, limit: usize },
    /// The response is of another content type.
    #[error(
        "the answer to {path} is '{found}' where '{expected}' was expected; is it a steelyard daemon?"
    )]
    ContentType {
        path: String,
        /// Of the response.
        found: String,
        /// Of the route.
        expected: &'static str,
    },
    /// The response does not have the form of the route.
    #[error(transparent)]
    Decode(Box<OtherForm>),
    /// The response is not text.
    #[error("the answer to {path} is not UTF-8")]
    NotText { path: String },
    /// The request could not be written as JSON.
    #[error("cannot write the request as JSON: {0}")]
    Encode(serde_json::Error),
    /// The request could not be made: its path is no path.
    #[error("cannot make the request {path}: {source}")]
    Request { path: String, source: hyper::http::Error },
    /// A refusal without an explanation.
    #[error("the daemon answered {path} with status {status} and no explanation")]
    Status { path: String, status: u16 },
    /// A refusal with an explanation.
    #[error("{}", sentence(.0))]
    Refused(Box<Problem>),
}

/// A response of another form than this program reads.
#[derive(Debug)]
pub struct OtherForm {
    /// Where the daemon is.
    pub place: String,
    pub path: String,
    /// The daemon's version, if the response tells it.
    pub daemon: Option<String>,
    pub source: serde_json::Error,
}

impl std::error::Error for OtherForm {}

impl std::fmt::Display for OtherForm {
    /// With the version of the program to use.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OtherForm { place, path, daemon, source } = self;
        let text = source.to_string();
        let fact = text.split(" at line ").next().unwrap_or_default();
        let own = env!("CARGO_PKG_VERSION");
        write!(
            f,
            "the answer of the daemon at {place} to {path} has another form than steelyard {own} reads ({fact}); "
        )?;
        match daemon.as_deref().filter(|version| *version != own) {
            Some(version) => {
                write!(f, "that daemon is steelyard {version}: use the program of that version")
            }
            None => {
                f.write_str("use the program of the daemon's version, which `GET /v1/status` tells")
            }
        }
    }
}

impl ApiError {
    /// A response that is not what the route's type reads.
    pub(super) fn other_form(
        place: String,
        path: String,
        body: &[u8],
        source: serde_json::Error,
    ) -> ApiError {
        let value: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        let version = value.as_ref().and_then(|value| value["version"].as_str());
        // A version is short; a longer text is not one.
        let daemon = version.filter(|text| text.len() <= 64).map(str::to_owned);
        ApiError::Decode(Box::new(OtherForm { place, path, daemon, source }))
    }

    /// Whether the daemon itself refused, rather than failed to answer.
    pub fn is_refusal(&self) -> bool {
        matches!(self, ApiError::Refused(_))
    }
}

/// A problem in one sentence, with the advice if there is any.
fn sentence(problem: &Problem) -> String {
    let reason = match (problem.detail.as_str(), problem.title.as_str()) {
        ("", "") => {
            format!("the daemon answered with status {} and no explanation", problem.status)
        }
        ("", title) => title.to_owned(),
        (detail, _) => detail.to_owned(),
    };
    match &problem.advice {
        Some(advice) => format!("{reason}; {advice}"),
        None => reason,
    }
}
