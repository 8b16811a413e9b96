//! One connection of an origin, whatever it speaks.
//!
//! A closed set of two; it adds nothing of its own.

use model::monotonic_time::MonotonicTime;

use super::content::OriginContent;
use super::echo::EchoConnection;
use super::http::{CloseMode, HttpOriginConnection};

/// A connection without its socket.
#[derive(Debug)]
pub enum OriginConnection {
    Http(Box<HttpOriginConnection>),
    Echo(EchoConnection),
}

impl OriginConnection {
    /// Bytes came, or (with none) what had to be waited for is there.
    pub fn on_received(&mut self, bytes: &[u8], site: &mut OriginContent, now: MonotonicTime) {
        match self {
            OriginConnection::Http(http) => http.on_received(bytes, site, now),
            OriginConnection::Echo(echo) => {
                site.requests += 1;
                echo.on_received(bytes);
            }
        }
    }

    /// What is to be sent: bytes, then so many of the filler.
    pub fn output(&self) -> (&[u8], u64) {
        match self {
            OriginConnection::Http(http) => http.output(),
            OriginConnection::Echo(echo) => (echo.output(), 0),
        }
    }

    /// So many of them were sent.
    pub fn on_written(&mut self, bytes: usize) {
        match self {
            OriginConnection::Http(http) => http.on_written(bytes),
            OriginConnection::Echo(echo) => echo.on_written(bytes),
        }
    }

    /// How it is to end now.
    pub fn ending(&self) -> Option<CloseMode> {
        match self {
            OriginConnection::Http(http) => http.ending(),
            OriginConnection::Echo(echo) => echo.ended().then_some(CloseMode::Close),
        }
    }

    /// The peer has ended; `true`: something is still to be sent first.
    pub fn on_peer_end(&mut self) -> bool {
        match self {
            OriginConnection::Http(_) => false,
            OriginConnection::Echo(echo) => {
                echo.end();
                !echo.output().is_empty()
            }
        }
    }

    /// Whether more may be read.
    pub fn wants_more(&self) -> bool {
        match self {
            OriginConnection::Http(_) => true,
            OriginConnection::Echo(echo) => echo.wants_more(),
        }
    }

    /// Whether input is left that waited for output to be sent.
    pub fn has_input(&self) -> bool {
        match self {
            OriginConnection::Http(http) => http.has_input(),
            OriginConnection::Echo(_) => false,
        }
    }

    /// When `received` is to be called although nothing came.
    pub fn wake_at(&self) -> Option<MonotonicTime> {
        match self {
            OriginConnection::Http(http) => http.wake_at(),
            OriginConnection::Echo(_) => None,
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        match self {
            OriginConnection::Http(http) => http.is_idle(),
            OriginConnection::Echo(echo) => echo.output().is_empty(),
        }
    }
}
