//! Why a request failed, as its sender saw it: a closed list.
//!
//! It does not blame: a reset may come from a balancer or from what stands behind it.

macro_rules! fails {
    ($($(#[$doc:meta])* $name:ident = $text:literal;)*) => {
        /// Why a request failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FailureCause { $($(#[$doc])* $name,)* }

        impl FailureCause {
            /// Every cause, in the order of its discriminant.
            pub const ALL: &'static [FailureCause] = &[$(FailureCause::$name,)*];
            /// How many there are.
            pub const COUNT: usize = Self::ALL.len();

            /// Its name in tables and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(FailureCause::$name => $text,)* }
            }
        }
    };
}

fails! {
    Refused = "connect-refused";
    /// The connection could not be established for another reason than a refusal or the clock.
    Unreachable = "connect-failed";
    /// The connection was not established in time.
    ConnectTimeout = "connect-timeout";
    /// This machine had no descriptor, source port or memory for the connection.
    NoResource = "no-local-resource";
    /// Reset before a byte of the answer came.
    ResetBeforeAnswer = "reset-before-answer";
    /// Reset in the middle of the answer.
    ResetMidAnswer = "reset-mid-answer";
    /// Closed in order before a byte of the answer came.
    ClosedBeforeAnswer = "closed-before-answer";
    /// Closed in order in the middle of the answer.
    ClosedMidAnswer = "closed-mid-answer";
    /// The answer was not complete in time.
    Timeout = "timeout";
    /// The answer broke HTTP's grammar or framing.
    BadAnswer = "bad-answer";
    /// The answer was whole but not the one asked for, or bytes followed that nobody had asked for.
    WrongAnswer = "wrong-answer";
    /// The peer reset the stream of the request alone (HTTP/2).
    StreamReset = "stream-reset";
    /// The TLS handshake failed, or a record could not be read.
    Tls = "tls-failed";
    /// The server did not choose HTTP/2, which was asked for.
    NoHttp2 = "http2-not-chosen";
    /// A whole answer with another status than was expected.
    UnexpectedStatus = "unexpected-status";
    /// A whole answer whose body has another size than was expected.
    UnexpectedSize = "unexpected-size";
    /// A whole answer whose body lacks the text that was expected.
    UnexpectedText = "unexpected-text";
    /// A whole answer with a status of 500 or more that was not expected.
    ServerError = "status-5xx";
    /// Open loop: every connection was busy until it was too late.
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
