//! Why an exchange or a connection ended other than well: a closed list.
//!
//! The log, the metrics, the API and local replies use the same names. Each cause names the side that moved first and
//! the HTTP status that an unanswered client gets. The `retry` module decides what happens next.

use serde::{Deserialize, Serialize};

/// Who moved first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    Client,
    /// The balancer: a limit or an order.
    Us,
    Server,
    /// The path between, as far as the balancer can tell.
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

            /// The status of the local reply while nothing of an answer was sent; 0: none can be sent.
            pub const fn status(self) -> u16 {
                match self { $(Cause::$name => $status,)* }
            }
        }
    };
}

causes! {
    /// The request broke HTTP's framing or grammar; `wire` names the rule.
    BadRequest = "bad-request", Client, 400;
    /// Servers may read the path of the request in several ways, and rules or `path-normalization` refuse such paths.
    AmbiguousPath = "ambiguous-path", Client, 400;
    /// Servers may read the method, a field, a cookie or a parameter of the request in several ways, and a rule matches
    /// only some of them.
    AmbiguousRequest = "ambiguous-request", Client, 400;
    /// The client closed in the middle of its request.
    ClientClosedRequest = "client-closed-request", Client, 0;
    /// The client closed before the answer was complete.
    ClientClosedResponse = "client-closed-response", Client, 0;
    /// The client reset the connection.
    ClientReset = "client-reset", Client, 0;
    /// The client did not send a whole head in time.
    ClientHeaderTimeout = "client-header-timeout", Client, 408;
    /// The client stopped sending its body.
    ClientBodyTimeout = "client-body-timeout", Client, 408;
    /// The client stopped reading the answer.
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
    ProxyUntrusted = "proxy-untrusted", Us, 0;
    /// A plain HTTP request on a TLS port.
    PlainOnTls = "plain-on-tls", Client, 400;
    /// The request is for a host whose connections need a client certificate, and this connection was made without; or
    /// the other way round.
    Misdirected = "misdirected", Client, 421;
    /// The head exceeds a limit.
    HeadTooLarge = "head-too-large", Us, 431;
    /// The request target exceeds its limit.
    TargetTooLong = "target-too-long", Us, 414;
    /// The request's body is longer than the service buffers, and the service refuses longer ones.
    BodyTooLarge = "body-too-large", Us, 413;
    /// The service buffers as many bytes of bodies as it may, and refuses more.
    BufferFull = "buffer-full", Us, 503;
    /// The whole exchange took longer than allowed.
    WholeTimeout = "whole-timeout", Us, 504;
    /// The connection was closed when draining ended.
    DrainCut = "drain-cut", Us, 0;
    /// An operator closed the connections of the server.
    OrderCut = "order-cut", Us, 503;
    /// The connection limit of a service or of the machine was reached.
    ConnectionLimit = "connection-limit", Us, 503;
    /// The client had its share of connections or handshakes, all of them in use.
    ClientLimit = "client-limit", Us, 429;
    /// Too many handshakes were under way.
    TlsHandshakeLimit = "tls-handshake-limit", Us, 0;
    /// No file descriptor was free.
    NoDescriptor = "no-descriptor", Us, 503;
    /// No source port was free towards the server.
    NoSourcePort = "no-source-port", Us, 503;
    /// Every eligible server was at its connection cap for too long.
    QueueTimeout = "queue-timeout", Us, 503;
    /// The queue of the pool was full.
    QueueFull = "queue-full", Us, 503;
    /// Another server answered the same hedged request first.
    HedgeLost = "hedge-lost", Us, 503;
    /// The queue of the pool was limited to what its servers process in time, and other requests came first.
    OverloadShed = "overload-shed", Us, 503;
    /// A circuit breaker of the pool was open: its limit was reached.
    CircuitOpen = "circuit-open", Us, 503;
    /// The pool has no server that may take work.
    NoServer = "no-server", Us, 503;
    /// A rule denied the request.
    RuleDenied = "rule-denied", Us, 403;
    /// A rule's rate limit rejected the request.
    RateLimited = "rate-limited", Us, 429;
    /// A retry was needed, and the pool's retry budget was spent.
    RetryBudget = "retry-budget", Us, 503;
    /// An internal error of the balancer; the log has the details.
    Internal = "internal", Us, 500;
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
    /// The server closed before it answered.
    ServerClosed = "server-closed", Server, 502;
    /// The server reset the connection before it answered.
    ServerReset = "server-reset", Server, 502;
    /// The server did not begin to answer in time.
    FirstByteTimeout = "first-byte-timeout", Server, 504;
    /// The server stopped in the middle of its answer.
    ServerBodyTimeout = "server-body-timeout", Server, 504;
    /// The server closed or reset in the middle of its answer.
    ServerCut = "server-cut", Server, 502;
    /// The server stopped reading the request's body.
    ServerWriteTimeout = "server-write-timeout", Server, 504;
    /// The server's answer had a status that calls for a retry.
    ServerStatus = "server-status", Server, 502;
    /// A health check marked the server down while its answer was awaited.
    ServerMarkedDown = "server-marked-down", Server, 503;
    /// The server's answer broke HTTP's framing or grammar.
    BadResponse = "bad-response", Server, 502;
    /// A tunnel (`tcp` or an upgrade) was idle for too long.
    TunnelIdle = "tunnel-idle", Us, 0;
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
