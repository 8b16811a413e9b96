//! The checked configuration of HTTP/3 towards clients. Plain data; the request plane implements the protocol.

use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientHttp3 {
    /// Whether HTTP/3 is offered, over UDP at the addresses of the service; default off.
    pub offer: bool,
    /// How long clients of HTTP/1 and HTTP/2 may cache the announcement (Alt-Svc); `None`: no announcement. Default 1
    /// day.
    pub announce: Option<Duration>,
    /// Limit for concurrent requests on one connection; default 100.
    pub streams: u32,
    /// Flow-control window of one request body, bytes; default 256 KiB.
    pub window: u32,
    /// Flow-control window of all request bodies of one connection together, bytes; default 4 MiB.
    pub window_most: u32,
    /// Bytes of all responses of a connection buffered for its client; default 1 MiB.
    pub send_buffer: u32,
    /// Maximum age of a connection before a graceful close; `None`: no limit. Default 1 h.
    pub age: Option<Duration>,
    /// Handshakes in progress at a worker from which on clients must validate their address (Retry); default 100.
    pub prove: u32,
    /// Limit for requests that a client may reset in ten seconds; default 500.
    pub resets: u32,
}

impl Default for ClientHttp3 {
    fn default() -> Self {
        ClientHttp3 {
            offer: false,
            // One day, the default of `ma` in RFC 7838 §3.1.
            announce: Some(Duration::from_secs(86_400)),
            streams: 100,
            window: 256 << 10,
            window_most: 4 << 20,
            send_buffer: 1 << 20,
            // One hour, as for HTTP/2: long-lived clients are spread over workers and balancers once an hour.
            age: Some(Duration::from_secs(3600)),
            prove: 100,
            resets: 500,
        }
    }
}
