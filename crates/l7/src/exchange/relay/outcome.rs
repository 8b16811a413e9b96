//! How an attempt ended, well or badly. `exchange` decides what follows.

use model::cause::Cause;
use wire::http1::Defect;

/// How an attempt ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnding {
    /// The whole answer was given to the client.
    Answered {
        /// The client's connection may carry another request.
        keep_client: bool,
        /// The server's connection may carry another request.
        keep_server: bool,
    },
    /// The whole answer is here, and its client has not received all of it.
    ReadAhead { keep_client: bool, keep_server: bool },
    /// Both agreed on another protocol: bytes from here on.
    Upgraded,
}

/// How an attempt ended badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptFault {
    pub cause: Cause,
    /// Bytes of a final answer went to the client.
    pub answer_begun: bool,
    /// An informational answer went to the client.
    pub interim_sent: bool,
    /// Bytes of an answer came from the server.
    pub answer_received: bool,
    /// The rule of grammar that was broken, if that was it.
    pub defect: Option<Defect>,
    /// The client's connection cannot be answered any more.
    pub client_lost: bool,
    /// The server's end was seen before any byte of an answer, and nothing of the request was acknowledged.
    pub unreceived: bool,
}

impl AttemptFault {
    /// Nothing was sent: no connection could be had.
    pub fn before_sending(cause: Cause) -> AttemptFault {
        AttemptFault {
            cause,
            answer_begun: false,
            interim_sent: false,
            answer_received: false,
            defect: None,
            client_lost: false,
            unreceived: true,
        }
    }
}
