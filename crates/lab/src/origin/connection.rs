//! One connection of an origin, whatever it speaks.
//!
//! A closed set of two; it adds nothing of its own.

use model::moment::Moment;

use super::echo::Echo;
use super::http::{Ending, Http};
use super::site::Site;

/// A connection without its socket.
#[derive(Debug)]
pub enum Connection {
    /// HTTP/1.
    Http(Box<Http>),
    /// Every byte back.
    Echo(Echo),
}

impl Connection {
    /// Bytes came, or (with none) what had to be waited for is there.
    pub fn received(&mut self, bytes: &[u8], site: &mut Site, now: Moment) {
        match self {
            Connection::Http(http) => http.received(bytes, site, now),
            Connection::Echo(echo) => {
                site.requests += 1;
                echo.received(bytes);
            }
        }
    }

    /// What is to be sent: bytes, then so many of the filler.
    pub fn output(&self) -> (&[u8], u64) {
        match self {
            Connection::Http(http) => http.output(),
            Connection::Echo(echo) => (echo.output(), 0),
        }
    }

    /// So many of them were sent.
    pub fn wrote(&mut self, bytes: usize) {
        match self {
            Connection::Http(http) => http.wrote(bytes),
            Connection::Echo(echo) => echo.wrote(bytes),
        }
    }

    /// How it is to end now.
    pub fn ending(&self) -> Option<Ending> {
        match self {
            Connection::Http(http) => http.ending(),
            Connection::Echo(echo) => echo.ended().then_some(Ending::Close),
        }
    }

    /// The peer has ended; `true`: something is still to be sent first.
    pub fn peer_ended(&mut self) -> bool {
        match self {
            Connection::Http(_) => false,
            Connection::Echo(echo) => {
                echo.end();
                !echo.output().is_empty()
            }
        }
    }

    /// Whether more may be read.
    pub fn wants_more(&self) -> bool {
        match self {
            Connection::Http(_) => true,
            Connection::Echo(echo) => echo.wants_more(),
        }
    }

    /// Whether input is left that waited for output to be sent.
    pub fn has_input(&self) -> bool {
        match self {
            Connection::Http(http) => http.has_input(),
            Connection::Echo(_) => false,
        }
    }

    /// When `received` is to be called although nothing came.
    pub fn wake_at(&self) -> Option<Moment> {
        match self {
            Connection::Http(http) => http.wake_at(),
            Connection::Echo(_) => None,
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        match self {
            Connection::Http(http) => http.is_idle(),
            Connection::Echo(echo) => echo.output().is_empty(),
        }
    }
}
