//! Why an exchange or a connection ended other than well: a closed list.
//!
//! The log, the metrics, the API and local replies use the same names. Each cause names the side that moved first and
//! the HTTP status that an unanswered client gets. The `retry` module decides what happens next.

use serde::{Deserialize, Serialize};

/// The side that acted first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Client,
    /// A limit or a command.
    #[serde(alias = "us")]
    Balancer,
    Server,
    /// The path between balancer and server, as far as the balancer can see.
    Network,
}

macro_rules! causes {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $side:ident, $status:literal;)*) => {
        /// Why an exchange or a connection ended.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Cause { $($(#[$doc])* $name,)* }

        impl Cause {
            /// Every cause, in the order of its discriminant.
            pub const ALL: &'static [Cause] = &[$(Cause::$name,)*];
            pub const COUNT: usize = Self::ALL.len();

            /// The name in logs, metrics, the API and the `x-steelyard-cause` header.
            pub const fn name(self) -> &'static str {
                match self { $(Cause::$name => $text,)* }
            }

            /// The side that moved first.
            pub const fn side(self) -> Side {
                match self { $(Cause::$name => Side::$side,)* }
            }

            /// The status of the local reply if no byte of a response was sent; 0: none can be sent.
            pub const fn status(self) -> u16 {
                match self { $(Cause::$name => $status,)* }
            }
        }
    };
}

causes! {
    /// The request violated HTTP's framing or grammar; `wire` names the rule.
    BadRequest = "bad-request", Client, 400;
    /// Servers may interpret the path of the request in several ways, and rules or `path-normalization` reject such
    /// paths.
    AmbiguousPath = "ambiguous-path", Client, 400;
    /// Servers may interpret the method, a field, a cookie or a parameter of the request in several ways, and a rule
    /// matches only some of them.
    AmbiguousRequest = "ambiguous-request", Client, 400;
    /// The client closed in the middle of its request.
    ClientClosedRequest = "client-closed-request", Client, 0;
    /// The client closed before the response was complete.
    ClientClosedResponse = "client-closed-response", Client, 0;
    /// The client reset the connection.
    ClientReset = "client-reset", Client, 0;
    /// The client did not send a complete head in time.
    ClientHeaderTimeout = "client-header-timeout", Client, 408;
    /// The client stopped sending its body.
    ClientBodyTimeout = "client-body-timeout", Client, 408;
    /// The client stopped reading the response.
    ClientReadTimeout = "client-read-timeout", Client, 0;
    /// The client's handshake failed: no common version or cipher, a refusal, or bytes that are not TLS; the log names
    /// which.
    TlsHandshake = "tls-handshake", Client, 0;
    /// The client did not finish its handshake in time.
    TlsHandshakeTimeout = "tls-handshake-timeout", Client, 0;
    /// The client requested a name that no certificate proves.
    TlsUnknownName = "tls-unknown-name", Client, 0;
    /// The client's certificate is missing or invalid; the log names why.
    ClientCertificate = "client-certificate", Client, 0;
    /// The client's certificate is missing or invalid, and its service answers such requests; the log names why.
    ClientCertificateRefused = "client-certificate-refused", Client, 400;
    /// The client exceeded a limit of HTTP/2 that only attacks reach; the log names which.
    Http2Flood = "http2-flood", Client, 0;
    /// The client exceeded a limit of HTTP/3 that only attacks reach; the log names which.
    Http3Flood = "http3-flood", Client, 0;
    /// A trusted connection did not begin with a valid PROXY protocol header; the log names why.
    ProxyHeader = "proxy-header", Client, 0;
    /// The PROXY protocol header of a trusted connection was not complete in time.
    ProxyHeaderTimeout = "proxy-header-timeout", Client, 0;
    /// The connection came from an address that the service does not accept the PROXY protocol from.
    ProxyUntrusted = "proxy-untrusted", Balancer, 0;
    /// A plain HTTP request on a TLS port.
    PlainOnTls = "plain-on-tls", Client, 400;
    /// The request's host requires a client certificate and its connection has none, or the other way round.
    Misdirected = "misdirected", Client, 421;
    /// The head exceeds a limit.
    HeadTooLarge = "head-too-large", Balancer, 431;
    /// The request target exceeds its limit.
    TargetTooLong = "target-too-long", Balancer, 414;
    /// The request's body is longer than the service buffers, and the service rejects longer ones.
    BodyTooLarge = "body-too-large", Balancer, 413;
    /// The service has used up its buffer memory, and rejects further bodies.
    BufferFull = "buffer-full", Balancer, 503;
    /// The whole exchange took longer than allowed.
    WholeTimeout = "total-timeout", Balancer, 504;
    /// The connection was closed when draining ended.
    DrainCut = "drain-timeout", Balancer, 0;
    /// An operator closed the connections of the server.
    OrderCut = "operator-cut", Balancer, 503;
    /// The connection limit of a service or of the machine was reached.
    ConnectionLimit = "connection-limit", Balancer, 503;
    /// The client reached its share of connections or handshakes, and all of them were in use.
    ClientLimit = "client-limit", Balancer, 429;
    /// Too many handshakes were in progress.
    TlsHandshakeLimit = "tls-handshake-limit", Balancer, 0;
    /// No file descriptor was free.
    NoDescriptor = "no-descriptor", Balancer, 503;
    /// No source port was free towards the server.
    NoSourcePort = "no-source-port", Balancer, 503;
    /// Every eligible server was at its connection limit for too long.
    QueueTimeout = "queue-timeout", Balancer, 503;
    /// The queue of the pool was full.
    QueueFull = "queue-full", Balancer, 503;
    /// Another server answered the same hedged request first.
    HedgeLost = "hedge-lost", Balancer, 503;
    /// The queue of the pool was limited to what its servers process in time, and other requests had precedence.
    OverloadShed = "overload-shed", Balancer, 503;
    /// A circuit breaker of the pool was open: its limit was reached.
    CircuitOpen = "circuit-open", Balancer, 503;
    /// The pool has no server that may get work.
    NoServer = "no-server", Balancer, 503;
    /// A rule denied the request.
    RuleDenied = "rule-denied", Balancer, 403;
    /// The client did not prove who it is: no password, key or token, or a wrong one.
    Unauthenticated = "unauthenticated", Balancer, 401;
    /// No check of a password was free in time, or an object of `[auth]` was not loaded.
    AuthOverloaded = "auth-overloaded", Balancer, 503;
    /// No server of `[auth]` gave a usable answer to whether the request may pass, and the log names why; or keys of tokens could not be fetched.
    AuthUnanswered = "auth-unanswered", Balancer, 503;
    /// A rule's rate limit rejected the request.
    RateLimited = "rate-limited", Balancer, 429;
    /// A retry was needed, and the pool's retry budget was spent.
    RetryBudget = "retry-budget", Balancer, 503;
    /// An internal error of the balancer; the log has the details.
    Internal = "internal", Balancer, 500;
    /// The server refused the connection.
    ServerRefused = "server-refused", Server, 502;
    /// The server could not be reached.
    ServerUnreachable = "server-unreachable", Network, 502;
    /// The connection to the server was not established in time.
    ConnectTimeout = "connect-timeout", Network, 504;
    /// The handshake with the server failed.
    ServerTls = "server-tls", Server, 502;
    /// The server's certificate is invalid, or not for the requested name.
    ServerCertificate = "server-certificate", Server, 502;
    /// The server closed the connection before it responded.
    ServerClosed = "server-closed", Server, 502;
    /// The server reset the connection before it responded.
    ServerReset = "server-reset", Server, 502;
    /// The server did not start to respond in time.
    FirstByteTimeout = "first-byte-timeout", Server, 504;
    /// The server stopped in the middle of its response.
    ServerBodyTimeout = "server-body-timeout", Server, 504;
    /// The server closed or reset the connection in the middle of its response.
    ServerCut = "response-truncated", Server, 502;
    /// The server stopped reading the request's body.
    ServerWriteTimeout = "server-write-timeout", Server, 504;
    /// The response had a status that is configured for a retry.
    ServerStatus = "server-status", Server, 502;
    /// A health check marked the server down while its response was awaited.
    ServerMarkedDown = "server-marked-down", Server, 503;
    /// The response violated HTTP's framing or grammar.
    BadResponse = "bad-response", Server, 502;
    /// A tunnel (`tcp` or an upgrade) was idle for too long.
    TunnelIdle = "tunnel-idle", Balancer, 0;
    /// The client accepts only segments smaller than `socket.mss-min`.
    SegmentsTooSmall = "segments-too-small", Balancer, 0;
}

impl serde::Serialize for Cause {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_the_discriminant_and_names_are_unique() {
        for (at, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, at);
        }
        let names: std::collections::BTreeSet<_> = Cause::ALL.iter().map(|c| c.name()).collect();
        assert_eq!(names.len(), Cause::COUNT);
    }
}
