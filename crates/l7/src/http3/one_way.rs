//! The streams of a client that go one way, as they come: read, held to their rules, and dropped where they mean nothing.

use std::collections::HashMap;
use std::task::Waker;

use quinn_proto::{Dir, StreamId};
use wire::http3::{Broken, Uni, code};

use crate::quic::link::{Got, Link, ROOM};

/// Those of one connection.
#[derive(Default)]
pub struct OneWay {
    streams: HashMap<StreamId, Uni>,
    /// Which there were of those of which there is one at most.
    seen: [bool; 3],
}

impl OneWay {
    /// Takes new ones and whatever has come; their news are for the task of this waker.
    pub fn take(&mut self, link: &Link, waker: &Waker) {
        while let Some(id) = link.accept(Dir::Uni) {
            link.attach(id, waker.clone());
            self.streams.insert(id, Uni::new());
        }
        self.read(link);
    }

    fn read(&mut self, link: &Link) {
        let mut over = Vec::new();
        for (id, uni) in &mut self.streams {
            loop {
                let known = uni.only_one();
                match link.read(*id, ROOM) {
                    Got::Later => break,
                    Got::Bytes(bytes) => {
                        if let Err(Broken::Connection(code)) = uni.feed(&bytes) {
                            link.fail(code);
                        }
                        if known.is_none()
                            && let Some(which) = uni.only_one()
                            && std::mem::replace(&mut self.seen[which], true)
                        {
                            link.fail(code::STREAM_CREATION_ERROR);
                        }
                        if matches!(uni, Uni::Unknown) {
                            link.stop(*id, code::STREAM_CREATION_ERROR);
                            over.push(*id);
                            break;
                        }
                    }
                    Got::End | Got::Broken => {
                        // Those that a connection needs stay as long as it does (RFC 9114 §6.2.1, RFC 9204 §4.2).
                        if known.is_some() && !link.is_gone(*id) {
                            link.fail(code::CLOSED_CRITICAL_STREAM);
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
