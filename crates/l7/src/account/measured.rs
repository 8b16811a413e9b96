//! What is measured of an exchange beside its moments: for whom it waited, and what its sockets counted.
//!
//! Filled in by whoever moves the bytes. It reads no clock and no socket, and judges nothing.

use std::time::Duration;

use model::attribute::{Change, Traced, Waits};
use model::moment::Moment;

/// What is measured of one exchange.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// It is one of those that are measured whatever they take.
    pub drawn: bool,
    /// How the connection began, for its first exchange.
    pub opening: Option<Opening>,
    /// The group of the key exchange with the server, where the last attempt made a connection.
    pub server_group: Option<&'static str>,
    /// When the last attempt had a connection to a server.
    pub attempt: Option<Moment>,
    /// For whom it waited.
    pub waits: Waits,
    /// The client's connection was read in this exchange, for a difference.
    pub client_marked: bool,
    /// The server's connection was read in this attempt.
    pub server_marked: bool,
    /// What happened on the client's and on the server's connection, once it was slow or drawn.
    pub sockets: Option<Box<Sockets>>,
    /// A tunnel.
    pub tunnel: bool,
    /// Its place in a trace.
    pub traced: Option<Traced>,
}

/// How a client's connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// From accept(2) to the first look at it.
    pub accept: Duration,
    /// Its handshake of TLS.
    pub tls: Option<Duration>,
    /// The group of that handshake's key exchange.
    pub group: Option<&'static str>,
}

impl Opening {
    /// Of a connection.
    pub fn new(accept: Duration, tls: Option<Duration>, group: Option<&'static str>) -> Opening {
        Opening { accept, tls, group }
    }
}

/// What happened on both connections.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sockets {
    /// On the client's.
    pub client: Option<Change>,
    /// On the server's.
    pub server: Option<Change>,
    /// Our port towards the server; `None`: it is not known.
    pub port: Option<u16>,
    /// The client's carries several exchanges.
    pub client_shared: bool,
    /// The server's does.
    pub server_shared: bool,
    /// The server's is under TLS.
    pub server_tls: bool,
}
