//! The configuration of HTTP/2: towards clients (`ClientHttp2`) and towards servers (`ServerHttp2`).
//!
//! Numbers and words alone; the request plane speaks it.

use serde::Serialize;
use std::time::Duration;

/// HTTP/2 towards clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientHttp2 {
    /// Where it is spoken; default over TLS.
    pub offer: ClientHttp2Mode,
    /// Requests at a time on one connection; default 100.
    pub streams: u32,
    /// Bytes of one request's body that may be on their way at first; default 256 KiB.
    pub window: u32,
    /// What that may grow to, and what all bodies of one connection together may; default 4 MiB.
    pub window_most: u32,
    /// Bytes of one answer that wait for its client; default 64 KiB.
    pub send_buffer: u32,
    /// How old a connection may become before it is ended in order; `None`: as old as it likes. Default 1 h.
    pub age: Option<Duration>,
    /// What a client may do in ten seconds.
    pub flood: Http2FloodLimits,
}

/// What one connection may do in ten seconds before it is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Http2FloodLimits {
    /// Requests taken back (CVE-2023-44487); default 500.
    pub resets: u32,
    /// PING, SETTINGS, PRIORITY, unknown and empty frames; default 1,000.
    pub control_frames: u32,
    /// Answers cut into pieces of less than 64 bytes by windows; default 1,000.
    pub tiny_frames: u32,
    /// Requests that break HTTP/2's own rules; default 100.
    pub malformed: u32,
}

/// Where HTTP/2 is spoken with clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientHttp2Mode {
    /// Nowhere.
    Off,
    /// Over TLS, where the client takes it up.
    Tls,
    /// Also without TLS, with clients that begin with its preface (RFC 9113 §3.3).
    Always,
}

/// HTTP/2 towards servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ServerHttp2 {
    /// Whether; default off.
    pub speak: ServerHttp2Mode,
    /// Requests at a time on one connection, if the server allows as many; default 100.
    pub streams: u32,
    /// Bytes of one answer's body that may be on their way at first; default 256 KiB.
    pub window: u32,
    /// What that may grow to, and what all answers of one connection together may; default 4 MiB.
    pub window_most: u32,
    /// Silence of a connection after which it is asked for a sign of life; `None`: never. Default 5.5 min.
    pub ping: Option<Duration>,
}

/// Whether servers are spoken to in HTTP/2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerHttp2Mode {
    /// HTTP/1.1.
    Off,
    /// Where a server takes it up under TLS; without TLS always.
    Prefer,
    /// Nothing else: a server under TLS that does not take it up is not used.
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
