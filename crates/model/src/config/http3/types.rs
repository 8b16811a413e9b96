//! The configuration of HTTP/3 towards clients. Numbers and words alone; the request plane speaks it.

use serde::Serialize;
use std::time::Duration;

/// HTTP/3 towards clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientHttp3 {
    /// Whether it is spoken, over UDP at the addresses of the service; default not.
    pub offer: bool,
    /// How long clients of HTTP/1 and HTTP/2 may remember that it is spoken; `None`: they are not told. Default 1 day.
    pub announce: Option<Duration>,
    /// Requests at a time on one connection; default 100.
    pub streams: u32,
    /// Bytes of one request's body that may be on their way; default 256 KiB.
    pub window: u32,
    /// The same of all bodies of one connection together; default 4 MiB.
    pub window_most: u32,
    /// Bytes of all answers of a connection that wait for its client; default 1 MiB.
    pub send_buffer: u32,
    /// How old a connection may become before it is ended in order; `None`: as old as it likes. Default 1 h.
    pub age: Option<Duration>,
    /// Handshakes under way at a worker from which on clients must first prove their address; default 100.
    pub prove: u32,
    /// Requests that a client may take back in ten seconds; default 500.
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
