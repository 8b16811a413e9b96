//! How an attempt ended: an ending or a fault. `exchange` decides what follows.

use model::cause::Cause;
use wire::http1::Defect;

use crate::exchange::flow::BodyFraming;

/// The ending of a successful attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEnding {
    /// The client received the complete response.
    Answered {
        /// The client's connection may carry another request.
        keep_client: bool,
        /// The server's connection may carry another request.
        keep_server: bool,
    },
    /// The server has sent the complete response, and the client has not received all of it.
    ReadAhead { keep_client: bool, keep_server: bool },
    /// A page takes the place of the server's answer, of which the client has received nothing.
    Intercepted {
        /// The server's connection may carry another request, once the rest of the body has been read.
        keep_server: bool,
    },
    /// The upgrade was accepted: a tunnel follows.
    Upgraded,
}

/// What is left of a server's answer that a page replaces.
#[derive(Default)]
pub struct InterceptedAnswer {
    /// Field lines that the client gets with the page.
    pub lines: Vec<u8>,
    /// The part of the body that has not arrived.
    pub unread: BodyFraming,
}

/// The fault of a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptFault {
    pub cause: Cause,
    /// Bytes of a final response were sent to the client.
    pub answer_begun: bool,
    /// An interim response was sent to the client.
    pub interim_sent: bool,
    /// Bytes of a response were received from the server.
    pub answer_received: bool,
    /// The violated rule, if that is the reason.
    pub defect: Option<Defect>,
    /// The client's connection cannot carry a response.
    pub client_lost: bool,
    /// The server closed before any byte of a response, and acknowledged no byte of the request. Or the server declared
    /// that it did not process the request.
    pub unreceived: bool,
}

impl AttemptFault {
    /// A fault before anything was sent to a server.
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
