//! The variables that a line of the access log may have beside fields and cookies of the request. The documentation has
//! this list, and a test compares both.

use crate::config::suggestion::nearest_match;

/// Declares the variables, each with its name in the configuration and in the line.
macro_rules! log_variables {
    ($($variable:ident = $name:literal,)+) => {
        /// A variable of the access log.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum LogVariable {
            $($variable,)+
        }

        impl LogVariable {
            /// All of them, in the order of a line.
            pub const ALL: &'static [LogVariable] = &[$(LogVariable::$variable,)+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(LogVariable::$variable => $name,)+
                }
            }
        }
    };
}

log_variables! {
    Time = "time",
    Id = "id",
    RequestId = "request-id",
    Service = "service",
    Client = "client",
    Connection = "connection",
    ClientFrom = "client-from",
    ClientStop = "client-stop",
    ClientHops = "client-hops",
    Protocol = "protocol",
    Method = "method",
    Target = "target",
    TargetBytes = "target-bytes",
    Status = "status",
    By = "by",
    Server = "server",
    Attempts = "attempts",
    Reused = "reused",
    Cause = "cause",
    Defect = "defect",
    Host = "host",
    Field = "field",
    At = "at",
    Found = "found",
    BytesFromClient = "bytes-from-client",
    BytesToClient = "bytes-to-client",
    BytesToServer = "bytes-to-server",
    BytesFromServer = "bytes-from-server",
    AcceptMs = "accept-ms",
    TlsMs = "tls-ms",
    HeadMs = "head-ms",
    AuthMs = "auth-ms",
    QueueMs = "queue-ms",
    ConnectMs = "connect-ms",
    BodyInMs = "body-in-ms",
    FirstByteMs = "first-byte-ms",
    TransferMs = "transfer-ms",
    TotalMs = "total-ms",
    TlsGroup = "tls-group",
    ServerTlsGroup = "server-tls-group",
    Owner = "owner",
    Limit = "limit",
    Weight = "weight",
    Rule = "rule",
    Sni = "sni",
    TlsVersion = "tls-version",
    UserAgent = "user-agent",
    Referer = "referer",
}

impl LogVariable {
    /// The variable of this name.
    pub fn from_name(name: &str) -> Option<LogVariable> {
        LogVariable::ALL.iter().copied().find(|variable| variable.name() == name)
    }

    /// The variable that a mistyped name means, as far as one can tell.
    pub fn nearest(name: &str) -> Option<&'static str> {
        nearest_match(name, LogVariable::ALL.iter().map(|variable| variable.name()))
    }

    /// The field of the request whose value it is, lower case.
    pub const fn request_field(self) -> Option<&'static str> {
        match self {
            LogVariable::Host => Some("host"),
            LogVariable::UserAgent => Some("user-agent"),
            LogVariable::Referer => Some("referer"),
            _ => None,
        }
    }

    /// Whether a line has it without being asked.
    pub const fn is_default(self) -> bool {
        !matches!(
            self,
            LogVariable::Rule
                | LogVariable::Sni
                | LogVariable::TlsVersion
                | LogVariable::UserAgent
                | LogVariable::Referer
        )
    }
}
