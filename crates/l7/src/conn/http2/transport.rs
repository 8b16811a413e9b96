//! Reads and writes the bytes of an HTTP/2 connection for its driver.
//!
//! The frames of many streams share a write: output is written at the end of the driver's turn. The bytes read in one
//! turn are limited, so that one connection does not delay the others. Frames are not interpreted.

use std::io;
use std::rc::Rc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};

use super::connection::Http2Connection;
use crate::conn::stream::{ProxyStream, StreamReadResult, StreamWriteResult};
use crate::rt::NetDriver;

/// Most bytes read in one turn.
/// Eight reads, then other connections of the worker have their turn.
const TURN: usize = 128 * 1024;

/// Size of a read buffer.
/// One frame of the default size (RFC 9113 §4.2).
const PIECE: usize = 16 * 1024;

/// With less space than this a new buffer is used.
/// Small requests share a buffer; a large body is not read in small pieces.
const MIN_SPACE: usize = 2 * 1024;

pub struct Http2Transport<N: NetDriver> {
    stream: Rc<ProxyStream<N>>,
    /// Bytes received before the connection was set up.
    early_input: Bytes,
    /// Space for the next read.
    input: BytesMut,
    /// Bytes that may still be read in this turn.
    read_budget: usize,
    /// Reading stopped before all bytes were read.
    more: bool,
    /// The peer has ended, or the connection is broken.
    ended: bool,
}

impl<N: NetDriver> Http2Transport<N> {
    /// A transport over this connection, from which `early` was already read.
    pub fn new(
        stream: ProxyStream<N>,
        connection: &Http2Connection<N>,
        early: Vec<u8>,
    ) -> Http2Transport<N> {
        let stream = Rc::new(stream);
        connection.set_transport(Rc::downgrade(&stream));
        Http2Transport {
            stream,
            early_input: Bytes::from(early),
            input: BytesMut::new(),
            read_budget: TURN,
            more: false,
            ended: false,
        }
    }

    pub fn begin_turn(&mut self) {
        self.read_budget = TURN;
        self.more = false;
    }

    /// The next bytes of the peer. `None`: nothing more now, or in this turn.
    pub fn read(&mut self, connection: &Http2Connection<N>) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        {
            let machine = connection.machine();
            if machine.is_failed() || machine.is_clogged() {
                // A peer that does not read gets nothing done. `flush` continues.
                self.more = !machine.is_failed();
                return None;
            }
        }
        if !self.early_input.is_empty() {
            return Some(std::mem::take(&mut self.early_input));
        }
        if self.read_budget == 0 {
            self.more = true;
            return None;
        }
        if self.input.len() < MIN_SPACE {
            self.input = BytesMut::zeroed(PIECE);
        }
        let most = self.input.len().min(self.read_budget);
        match self.stream.try_read(&mut self.input[..most]) {
            StreamReadResult::Data(n) => {
                self.read_budget -= n;
                Some(self.input.split_to(n).freeze())
            }
            StreamReadResult::WouldBlock => None,
            StreamReadResult::End | StreamReadResult::Failed(_) => {
                self.ended = true;
                None
            }
        }
    }

    /// Whether the peer has ended, or the connection is broken.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether another turn would read more at once.
    pub fn wants_turn(&self, connection: &Http2Connection<N>) -> bool {
        self.more && !connection.machine().is_clogged()
    }

    /// Writes what the machine has to send; `Ready`: all of it was written.
    pub fn flush(&mut self, connection: &Http2Connection<N>) -> Poll<io::Result<()>> {
        let mut machine = connection.machine();
        loop {
            let output = machine.output();
            if output.is_empty() {
                break;
            }
            match self.stream.try_write(output) {
                StreamWriteResult::Bytes(n) => machine.consume_output(n),
                StreamWriteResult::WouldBlock => return Poll::Pending,
                StreamWriteResult::Failed(error) => return Poll::Ready(Err(error)),
            }
        }
        drop(machine);
        connection.output_taken();
        if connection.open.get() == 0 {
            // An idle connection holds no buffer.
            self.input = BytesMut::new();
        }
        Poll::Ready(Ok(()))
    }

    /// The connection, when its streams have ended.
    pub fn into_stream(self) -> Option<ProxyStream<N>> {
        Rc::try_unwrap(self.stream).ok()
    }

    pub fn stream(&self) -> &ProxyStream<N> {
        &self.stream
    }
}
