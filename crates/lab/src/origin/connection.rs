//! One connection of an origin, HTTP or echo, without its socket.
//!
//! It only forwards calls to one of the two.

use model::monotonic_time::MonotonicTime;

use super::content::OriginContent;
use super::echo::EchoConnection;
use super::http::{CloseMode, HttpOriginConnection, OriginOutput};

#[derive(Debug)]
pub enum OriginConnection {
    Http(Box<HttpOriginConnection>),
    Echo(EchoConnection),
}

impl OriginConnection {
    /// Processes received bytes; without bytes, a delay that has expired.
    pub fn on_received(&mut self, bytes: &[u8], site: &mut OriginContent, now: MonotonicTime) {
        match self {
            OriginConnection::Http(http) => http.on_received(bytes, site, now),
            OriginConnection::Echo(echo) => {
                site.requests += 1;
                echo.on_received(bytes);
            }
        }
    }

    /// The output that is still to be sent.
    pub fn output(&self) -> OriginOutput<'_> {
        match self {
            OriginConnection::Http(http) => http.output(),
            OriginConnection::Echo(echo) => OriginOutput { bytes: echo.output(), fill: 0 },
        }
    }

    /// Removes sent bytes from the output.
    pub fn on_written(&mut self, bytes: usize) {
        match self {
            OriginConnection::Http(http) => http.on_written(bytes),
            OriginConnection::Echo(echo) => echo.on_written(bytes),
        }
    }

    /// How to close the connection now; `None`: it stays open.
    pub fn ending(&self) -> Option<CloseMode> {
        match self {
            OriginConnection::Http(http) => http.ending(),
            OriginConnection::Echo(echo) => echo.ended().then_some(CloseMode::Close),
        }
    }

    /// Notes that the peer closed its side; `true`: output is still pending.
    pub fn on_peer_end(&mut self) -> bool {
        match self {
            OriginConnection::Http(_) => false,
            OriginConnection::Echo(echo) => {
                echo.end();
                !echo.output().is_empty()
            }
        }
    }

    pub fn wants_more(&self) -> bool {
        match self {
            OriginConnection::Http(_) => true,
            OriginConnection::Echo(echo) => echo.wants_more(),
        }
    }

    /// Whether input is buffered that waits for output to be sent.
    pub fn has_input(&self) -> bool {
        match self {
            OriginConnection::Http(http) => http.has_input(),
            OriginConnection::Echo(_) => false,
        }
    }

    /// When `on_received` must be called even without received bytes.
    pub fn wake_at(&self) -> Option<MonotonicTime> {
        match self {
            OriginConnection::Http(http) => http.wake_at(),
            OriginConnection::Echo(_) => None,
        }
    }

    /// Whether no request is in progress and nothing is buffered.
    pub fn is_idle(&self) -> bool {
        match self {
            OriginConnection::Http(http) => http.is_idle(),
            OriginConnection::Echo(echo) => echo.output().is_empty(),
        }
    }
}
