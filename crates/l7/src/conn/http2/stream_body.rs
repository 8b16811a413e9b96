//! The body of a received HTTP/2 message, piece by piece.
//!
//! The machine holds the pieces, and the peer may send more as they are consumed.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use wire::http2::{BodyPart, ErrorCode, ResetOrigin, StreamReset, write_trailer_lines};

use super::body_reader::BodySource;
use super::connection::OpenStream;
use crate::rt::NetDriver;

pub struct Http2StreamBody<N: NetDriver>(pub Rc<OpenStream<N>>);

impl<N: NetDriver> BodySource for Http2StreamBody<N> {
    type Error = StreamReset;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, StreamReset>>> {
        let read = self.0.connection().machine().read_data(self.0.id());
        match read {
            BodyPart::Data(piece) => Poll::Ready(Some(Ok(piece))),
            BodyPart::Pending => Poll::Pending,
            BodyPart::End => Poll::Ready(None),
            BodyPart::Gone => {
                let cause = self.0.reset_cause().unwrap_or_else(|| self.0.unknown_reset());
                Poll::Ready(Some(Err(cause)))
            }
        }
    }

    fn poll_trailers(
        &mut self,
        _: &mut Context<'_>,
        lines: &mut Vec<u8>,
    ) -> Poll<Result<(), StreamReset>> {
        let mut machine = self.0.connection().machine();
        if let Some(trailers) = machine.take_trailers(self.0.id()) {
            let written = write_trailer_lines(&trailers, lines);
            machine.recycle(trailers);
            if let Err(defect) = written {
                let origin = ResetOrigin::Local(defect);
                return Poll::Ready(Err(StreamReset { code: ErrorCode::PROTOCOL_ERROR, origin }));
            }
        }
        Poll::Ready(Ok(()))
    }

    fn consumed(&mut self, n: usize) {
        self.0.connection().with_machine(|machine| machine.release(self.0.id(), n));
    }

    fn to_io_error(cause: &StreamReset) -> io::Error {
        reset_error(cause)
    }
}

/// The error of a broken stream.
pub fn reset_error(cause: &StreamReset) -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, cause.code.name())
}
