//! The closed list of causes for a failed request, as its client saw them.
//!
//! A cause does not assign blame: a reset may come from a balancer or from a server behind it.

macro_rules! fails {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FailureCause { $($(#[$doc])* $name,)* }

        impl FailureCause {
            /// Every cause, in the order of its discriminant.
            pub const ALL: &'static [FailureCause] = &[$(FailureCause::$name,)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The cause's name in tables and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(FailureCause::$name => $text,)* }
            }
        }
    };
}

fails! {
    Refused = "connect-refused";
    /// The connection could not be established, for a reason other than a refusal or a timeout.
    Unreachable = "connect-failed";
    /// The connection was not established in time.
    ConnectTimeout = "connect-timeout";
    /// This machine had no descriptor, source port or memory for the connection.
    NoResource = "no-local-resource";
    /// The peer reset the connection before a byte of the response arrived.
    ResetBeforeAnswer = "reset-before-answer";
    /// The peer reset the connection in the middle of the response.
    ResetMidAnswer = "reset-mid-answer";
    /// The peer closed the connection before a byte of the response arrived.
    ClosedBeforeAnswer = "closed-before-answer";
    /// The peer closed the connection in the middle of the response.
    ClosedMidAnswer = "closed-mid-answer";
    /// The response was not complete in time.
    Timeout = "timeout";
    /// The response violated HTTP's grammar or framing.
    BadAnswer = "bad-answer";
    /// The response was complete but did not match the request, or unrequested bytes followed it.
    WrongAnswer = "wrong-answer";
    /// The peer reset only the stream of the request (HTTP/2).
    StreamReset = "stream-reset";
    /// The TLS handshake failed, or a record could not be read.
    Tls = "tls-failed";
    /// The server did not select HTTP/2 by ALPN.
    NoHttp2 = "http2-not-chosen";
    /// A complete response with a status other than the expected one.
    UnexpectedStatus = "unexpected-status";
    /// A complete response whose body has a size other than the expected one.
    UnexpectedSize = "unexpected-size";
    /// A complete response whose body lacks the expected text.
    UnexpectedText = "unexpected-text";
    /// A complete response with an unexpected status of 500 or more.
    ServerError = "status-5xx";
    /// Open loop: no connection became free before the timeout.
    NotSent = "not-sent-in-time";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_discriminants_index() {
        for (index, fail) in FailureCause::ALL.iter().enumerate() {
            assert_eq!(*fail as usize, index);
            assert_eq!(
                FailureCause::ALL.iter().filter(|other| other.name() == fail.name()).count(),
                1
            );
        }
    }
}
