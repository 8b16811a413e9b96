//! The ways in which a connection fails: a closed list of captures and live connections, with codes and words. Plain data.

use serde::Serialize;

/// How a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCode {
    /// The SYN was answered with a reset.
    ConnectRefused,
    /// The SYN was not answered.
    ConnectUnanswered,
    /// The client never acknowledged the answer to its SYN.
    ConnectUnfinished,
    /// The server kept answering the SYN and ignored what the client sent next.
    AcceptQueueFull,
    /// The handshake of TLS ended with an alert.
    TlsRefused,
    /// A request without an answer.
    RequestUnanswered,
    /// A reset instead of an answer.
    RequestReset,
    /// The connection was closed instead of an answer.
    RequestClosed,
    /// The request ended before its announced length.
    RequestCut,
    /// The answer ended before its announced length.
    AnswerCut,
    /// The answer stopped, and the connection stayed open.
    AnswerStalled,
    /// The connection was reset between exchanges or within an unknown protocol.
    ConnectionReset,
    /// Data was sent again and again without a reply.
    PeerGone,
    /// The receive window was closed and never opened again.
    WindowClosed,
    /// Keep-alive probes had no reply.
    KeepaliveUnanswered,
    /// The first packets of a connection of QUIC had no answer.
    QuicUnanswered,
    /// The handshake of QUIC began and did not end.
    QuicUnfinished,
    /// The server does not have the version of QUIC that the client has.
    QuicVersionRefused,
}

impl FailureCode {
    /// Whether it is about connections of QUIC, which have numbers of their own.
    pub fn is_quic(self) -> bool {
        matches!(
            self,
            FailureCode::QuicUnanswered
                | FailureCode::QuicUnfinished
                | FailureCode::QuicVersionRefused
        )
    }

    /// The code in reports.
    pub fn name(self) -> &'static str {
        match self {
            FailureCode::ConnectRefused => "CONNECT_REFUSED",
            FailureCode::ConnectUnanswered => "CONNECT_UNANSWERED",
            FailureCode::ConnectUnfinished => "CONNECT_UNFINISHED",
            FailureCode::AcceptQueueFull => "ACCEPT_QUEUE_FULL",
            FailureCode::TlsRefused => "TLS_REFUSED",
            FailureCode::RequestUnanswered => "REQUEST_UNANSWERED",
            FailureCode::RequestReset => "REQUEST_RESET",
            FailureCode::RequestClosed => "REQUEST_CLOSED",
            FailureCode::RequestCut => "REQUEST_CUT",
            FailureCode::AnswerCut => "ANSWER_CUT",
            FailureCode::AnswerStalled => "ANSWER_STALLED",
            FailureCode::ConnectionReset => "CONNECTION_RESET",
            FailureCode::PeerGone => "PEER_GONE",
            FailureCode::WindowClosed => "WINDOW_CLOSED",
            FailureCode::KeepaliveUnanswered => "KEEPALIVE_UNANSWERED",
            FailureCode::QuicUnanswered => "QUIC_UNANSWERED",
            FailureCode::QuicUnfinished => "QUIC_UNFINISHED",
            FailureCode::QuicVersionRefused => "QUIC_VERSION_REFUSED",
        }
    }

    /// A few words for people.
    pub fn title(self) -> &'static str {
        match self {
            FailureCode::ConnectRefused => "refused connections",
            FailureCode::ConnectUnanswered => "connections without an answer",
            FailureCode::ConnectUnfinished => "connections that the client did not finish",
            FailureCode::AcceptQueueFull => "connections that the server does not accept",
            FailureCode::TlsRefused => "refused handshakes of TLS",
            FailureCode::RequestUnanswered => "requests without an answer",
            FailureCode::RequestReset => "a reset instead of an answer",
            FailureCode::RequestClosed => "a close instead of an answer",
            FailureCode::RequestCut => "requests that were given up",
            FailureCode::AnswerCut => "answers cut short",
            FailureCode::AnswerStalled => "answers that stopped",
            FailureCode::ConnectionReset => "reset connections",
            FailureCode::PeerGone => "a side that stopped answering",
            FailureCode::WindowClosed => "a receive window closed for good",
            FailureCode::KeepaliveUnanswered => "keep-alive probes without a reply",
            FailureCode::QuicUnanswered => "connections of QUIC without an answer",
            FailureCode::QuicUnfinished => "handshakes of QUIC that did not end",
            FailureCode::QuicVersionRefused => "versions of QUIC that were refused",
        }
    }
}

impl Serialize for FailureCode {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}
