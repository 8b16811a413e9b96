//! The writing side of a session, common to client and server.

use rustls::Error;
use rustls::unbuffered::{EncryptError, WriteTraffic};

/// The library's writer, for either side.
pub(super) enum TrafficWriter<'a> {
    Server(WriteTraffic<'a, rustls::server::ServerConnectionData>),
    Client(WriteTraffic<'a, rustls::client::ClientConnectionData>),
}

impl TrafficWriter<'_> {
    pub(super) fn encrypt(&mut self, plain: &[u8], to: &mut [u8]) -> Result<usize, EncryptError> {
        match self {
            TrafficWriter::Server(it) => it.encrypt(plain, to),
            TrafficWriter::Client(it) => it.encrypt(plain, to),
        }
    }

    pub(super) fn queue_close_notify(&mut self, to: &mut [u8]) -> Result<usize, EncryptError> {
        match self {
            TrafficWriter::Server(it) => it.queue_close_notify(to),
            TrafficWriter::Client(it) => it.queue_close_notify(to),
        }
    }
}

/// The bytes used, or the library's error as an error of the session.
pub(super) fn to_used(result: Result<usize, EncryptError>) -> Result<usize, Error> {
    result.map_err(|error| Error::General(error.to_string()))
}
