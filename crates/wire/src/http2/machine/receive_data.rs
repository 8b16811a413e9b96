//! DATA frames (RFC 9113 §6.1), whose payload is handled as it arrives, and the ends of bodies.

use bytes::{Bytes, BytesMut};

use super::Http2Machine;
use super::receive::AbsentStream;
use crate::http1::Defect;
use crate::http2::error_code::{ErrorCode, FrameViolation, StreamViolation};
use crate::http2::event::Http2Event;
use crate::http2::frame_input::{DataFrame, InputPhase};
use crate::http2::frames::{Http2FrameHeader, flag};
use crate::http2::stream_record::StreamHalf;

/// Shorter pieces are copied: a slice holds the whole buffer that it was read into.
/// A sixteenth of a read of 16 KiB, so a window of pieces holds at most sixteen times its size.
const SLICED_BYTES: usize = 1_024;

impl Http2Machine {
    /// Handles the header of a DATA frame. Its payload is consumed in any case.
    pub(super) fn begin_data(&mut self, header: Http2FrameHeader) -> Result<(), FrameViolation> {
        if !self.receive_window.receive(header.length) {
            return Err(FrameViolation::FLOW_CONTROL);
        }
        self.data_received += header.length as u64;
        let padded = header.has(flag::PADDED);
        if padded && header.length == 0 {
            return Err(FrameViolation::FRAME_SIZE);
        }
        let admitted = self.admit_data(header);
        if let Err(FrameViolation::Connection(_)) = admitted {
            return admitted.map(|_| ());
        }
        let frame = DataFrame {
            stream: header.stream,
            end_stream: header.has(flag::END_STREAM),
            discarded: admitted != Ok(true),
            left: header.length,
            padding: (!padded).then_some(0),
        };
        if frame.discarded {
            self.release_connection(header.length);
        }
        self.input.phase = InputPhase::Data(frame);
        if frame.left == 0 {
            self.finish_data(frame);
        }
        admitted.map(|_| ())
    }

    /// Whether a stream takes the data. `Ok(false)`: the data is discarded.
    fn admit_data(&mut self, header: Http2FrameHeader) -> Result<bool, FrameViolation> {
        let stream = header.stream;
        let reset_here = self.was_reset_here(stream);
        let Some(record) = self.streams.get_mut(&stream) else {
            return match self.absent_stream(stream) {
                AbsentStream::Idle => Err(FrameViolation::PROTOCOL),
                AbsentStream::Ignored => Ok(false),
                AbsentStream::Closed => Err(FrameViolation::STREAM_CLOSED),
            };
        };
        if record.reset && !reset_here {
            return Err(FrameViolation::stream(stream, ErrorCode::STREAM_CLOSED));
        }
        if record.reset {
            return Ok(false);
        }
        match record.remote {
            StreamHalf::Head => Err(FrameViolation::stream(stream, ErrorCode::PROTOCOL_ERROR)),
            StreamHalf::Closed => Err(FrameViolation::stream(stream, ErrorCode::STREAM_CLOSED)),
            StreamHalf::Body if !record.incoming.window.receive(header.length) => {
                Err(FrameViolation::stream(stream, ErrorCode::FLOW_CONTROL_ERROR))
            }
            StreamHalf::Body => Ok(true),
        }
    }

    /// Handles a part of the payload; returns how many bytes.
    pub(super) fn receive_data(&mut self, mut frame: DataFrame, input: &Bytes, at: usize) -> usize {
        let arrived = input.len() - at;
        let mut used = 1;
        match frame.padding {
            None => {
                let padding = usize::from(input[at]);
                // RFC 9113 §6.1: the padding may fill the payload, but not exceed it.
                if padding >= frame.left {
                    self.violate(FrameViolation::PROTOCOL);
                    return arrived;
                }
                frame.padding = Some(padding);
                if !frame.discarded {
                    self.release(frame.stream, 1 + padding);
                }
            }
            Some(padding) if frame.left > padding => {
                used = (frame.left - padding).min(arrived);
                if !frame.discarded {
                    self.take_data(frame.stream, input, at, used);
                }
            }
            Some(_) => used = frame.left.min(arrived),
        }
        frame.left -= used;
        self.input.phase = InputPhase::Data(frame);
        if frame.left == 0 {
            self.finish_data(frame);
        }
        used
    }

    fn finish_data(&mut self, frame: DataFrame) {
        self.input.phase = InputPhase::Header;
        if frame.end_stream
            && !frame.discarded
            && let Err(violation) = self.finish_incoming(frame.stream)
        {
            self.violate(violation);
        }
    }

    /// Keeps data for the application. A stream that has broken within the frame takes none; the windows were returned
    /// then.
    fn take_data(&mut self, stream: u32, input: &Bytes, at: usize, length: usize) {
        let Some(record) = self.streams.get_mut(&stream).filter(|record| !record.reset) else {
            return;
        };
        if let Some(expected) = &mut record.incoming.expected {
            match expected.checked_sub(length as u64) {
                Some(left) => *expected = left,
                None => return self.violate_stream(length_violation(stream)),
            }
        }
        if record.released {
            return self.release(stream, length);
        }
        let pieces = &mut record.incoming.pieces;
        let first = pieces.is_empty();
        let piece = input.slice(at..at + length);
        if length >= SLICED_BYTES {
            pieces.push_back(piece);
        } else {
            // Tiny pieces are joined, so that their number does not count.
            let joined = pieces.pop_back().map(|last| match last.len() < SLICED_BYTES {
                true => last.try_into_mut(),
                false => Err(last),
            });
            match joined {
                Some(Ok(mut last)) => {
                    last.extend_from_slice(&piece);
                    pieces.push_back(last.freeze());
                }
                other => {
                    pieces.extend(other.and_then(Result::err));
                    pieces.push_back(BytesMut::from(&piece[..]).freeze());
                }
            }
        }
        if first {
            self.events.push_back(Http2Event::Readable { stream });
        }
    }

    /// The peer has ended its side of a stream.
    pub(super) fn finish_incoming(&mut self, stream: u32) -> Result<(), FrameViolation> {
        let Some(record) = self.streams.get_mut(&stream).filter(|record| !record.reset) else {
            return Ok(());
        };
        if record.incoming.expected.is_some_and(|left| left > 0) {
            return Err(FrameViolation::Stream(length_violation(stream)));
        }
        record.remote = StreamHalf::Closed;
        if !record.released {
            self.events.push_back(Http2Event::Readable { stream });
        }
        self.settle(stream);
        Ok(())
    }
}

/// The body is not as long as its head says (RFC 9113 §8.1.1).
pub(super) fn length_violation(stream: u32) -> StreamViolation {
    let defect = Defect::LengthMismatch;
    StreamViolation { stream, code: ErrorCode::PROTOCOL_ERROR, defect }
}
