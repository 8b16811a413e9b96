//! Unidirectional streams of a client (control, QPACK): read, checked against RFC 9114, and dropped if their type is
//! unknown.

use std::collections::HashMap;
use std::task::Waker;

use quinn_proto::{Dir, StreamId};
use wire::http3::{Http3Error, UniStream, code};

use crate::downstream::quic::connection::{MAX_UNSENT, QuicConnection, QuicReadResult};

/// The unidirectional streams of one connection.
#[derive(Default)]
pub struct UnidirectionalStreams {
    streams: HashMap<StreamId, UniStream>,
    /// The stream types seen so far, of those that a client may open once.
    seen_types: [bool; 3],
}

impl UnidirectionalStreams {
    /// Accepts new streams and processes the available bytes; `waker` is woken when more arrive.
    pub fn accept_streams(&mut self, link: &QuicConnection, waker: &Waker) {
        while let Some(id) = link.accept(Dir::Uni) {
            link.attach(id, waker.clone());
            self.streams.insert(id, UniStream::new());
        }
        self.read(link);
    }

    fn read(&mut self, link: &QuicConnection) {
        let mut over = Vec::new();
        for (id, uni) in &mut self.streams {
            loop {
                let known = uni.unique_kind();
                match link.read(*id, MAX_UNSENT) {
                    QuicReadResult::Pending => break,
                    QuicReadResult::Bytes(bytes) => {
                        if let Err(Http3Error::Connection(code)) = uni.feed(&bytes) {
                            link.request_close(code);
                        }
                        if known.is_none()
                            && let Some(which) = uni.unique_kind()
                            && std::mem::replace(&mut self.seen_types[which], true)
                        {
                            link.request_close(code::STREAM_CREATION_ERROR);
                        }
                        if matches!(uni, UniStream::Unknown) {
                            link.stop(*id, code::STREAM_CREATION_ERROR);
                            over.push(*id);
                            break;
                        }
                    }
                    QuicReadResult::End | QuicReadResult::Broken => {
                        // Control and QPACK streams stay open as long as the connection (RFC 9114 §6.2.1, RFC 9204
                        // §4.2).
                        if known.is_some() && !link.is_gone(*id) {
                            link.request_close(code::CLOSED_CRITICAL_STREAM);
                        }
                        over.push(*id);
                        break;
                    }
                }
            }
        }
        for id in over {
            self.streams.remove(&id);
            link.detach(id);
        }
    }
}
