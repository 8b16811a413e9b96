//! The checked configuration of HTTP/2: towards clients (`ClientHttp2`) and towards servers (`ServerHttp2`).
//!
//! Plain data; the request plane implements the protocol.

use serde::Serialize;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientHttp2 {
    /// Where HTTP/2 is offered; default over TLS.
    pub offer: ClientHttp2Mode,
    /// Limit for concurrent requests on one connection; default 100.
    pub streams: u32,
    /// Initial flow-control window of one request body, bytes; default 256 KiB.
    pub window: u32,
    /// Limit to which this window may grow, and limit for all request bodies of one connection together; default 4 MiB.
    pub window_most: u32,
    /// Bytes of one response buffered for its client; default 64 KiB.
    pub send_buffer: u32,
    /// Maximum age of a connection before a graceful close; `None`: no limit. Default 1 h.
    pub age: Option<Duration>,
    /// Limits for a client within ten seconds.
    pub flood: Http2FloodLimits,
}

/// Limits for one connection within ten seconds; beyond a limit the connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Http2FloodLimits {
    /// Requests reset by the client (CVE-2023-44487); default 500.
    pub resets: u32,
    /// PING, SETTINGS, PRIORITY, unknown and empty frames; default 1,000.
    pub control_frames: u32,
    /// Response frames of less than 64 bytes that small windows force; default 1,000.
    pub tiny_frames: u32,
    /// Requests that violate HTTP/2's rules; default 100.
    pub malformed: u32,
}

/// Where HTTP/2 is offered to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientHttp2Mode {
    Off,
    /// Over TLS, if the client selects it (ALPN).
    Tls,
    /// Also without TLS, for clients that start with the preface (RFC 9113 §3.3).
    Always,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerHttp2 {
    /// When HTTP/2 is used; default off.
    pub speak: ServerHttp2Mode,
    /// Limit for concurrent requests on one connection, if the server allows as many; default 100.
    pub streams: u32,
    /// Initial flow-control window of one response body, bytes; default 256 KiB.
    pub window: u32,
    /// Limit to which this window may grow, and limit for all responses of one connection together; default 4 MiB.
    pub window_most: u32,
    /// Silence of a connection before a PING is sent; `None`: no PING. Default 5.5 min.
    pub ping: Option<Duration>,
}

/// When HTTP/2 is used with servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHttp2Mode {
    /// Never: HTTP/1.1.
    Off,
    /// If a server selects it under TLS; always without TLS.
    Prefer,
    /// Always: a TLS server that does not select HTTP/2 is not used.
    Only,
}

impl Default for ClientHttp2 {
    fn default() -> Self {
        ClientHttp2 {
            offer: ClientHttp2Mode::Tls,
            streams: 100,
            window: 256 << 10,
            window_most: 4 << 20,
            send_buffer: 64 << 10,
            // One hour, as nginx's keepalive_time: long-lived clients are spread over workers and balancers once an
            // hour.
            age: Some(Duration::from_secs(3600)),
            flood: Http2FloodLimits {
                resets: 500,
                control_frames: 1000,
                tiny_frames: 1000,
                malformed: 100,
            },
        }
    }
}

impl Default for ServerHttp2 {
    fn default() -> Self {
        ServerHttp2 {
            speak: ServerHttp2Mode::Off,
            streams: 100,
            window: 256 << 10,
            window_most: 4 << 20,
            // Servers of gRPC tolerate one PING in five minutes; half a minute more allows for clocks and delays.
            ping: Some(Duration::from_secs(330)),
        }
    }
}
