//! Counts the open streams of a QUIC connection.

use std::rc::Rc;

use super::connection::QuicConnection;

/// An open stream, counted by its connection until it is dropped.
pub struct OpenQuicStream(Rc<QuicConnection>);

impl OpenQuicStream {
    pub fn enter(connection: &Rc<QuicConnection>) -> OpenQuicStream {
        connection.open.set(connection.open.get() + 1);
        OpenQuicStream(connection.clone())
    }
}

impl Drop for OpenQuicStream {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
        // The driver may wait for the last stream to end.
        self.0.wake_driver();
    }
}
