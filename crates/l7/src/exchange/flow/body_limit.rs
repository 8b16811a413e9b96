//! The limit of a body's length: its bytes without framing, as far as they are known.

use super::{BodyFraming, ByteFlow};
use crate::rt::NetDriver;

impl<N: NetDriver> ByteFlow<N> {
    /// Limits the body. False: it is known to be longer.
    pub fn set_limit(&mut self, max_bytes: u64) -> bool {
        self.max_bytes = max_bytes;
        !self.is_too_long()
    }

    /// Whether the body is known to be longer than its limit. Of such a body no further byte is passed on.
    pub fn is_too_long(&self) -> bool {
        self.max_bytes != u64::MAX && self.known_bytes() > self.max_bytes
    }

    /// The length of the body, or of its chunks so far.
    fn known_bytes(&self) -> u64 {
        match (self.chunked_bytes, &self.framing) {
            (Some(bytes), _) => bytes,
            (None, BodyFraming::Length(left)) => left.saturating_add(self.bytes_in),
            // No chunk has begun.
            (None, BodyFraming::Chunked(_)) => 0,
            (None, BodyFraming::Done | BodyFraming::UntilEnd) => self.bytes_in,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::http1::{ChunkedDecoder, ChunkedOutput};

    use super::*;
    use crate::simulation::net::SimNet;

    fn flow(framing: BodyFraming) -> ByteFlow<SimNet> {
        ByteFlow::new(framing, 64 << 10)
    }

    #[test]
    fn a_known_length_is_compared_at_once() {
        for (length, most, fits) in
            [(0, 1, true), (9, 9, true), (10, 9, false), (u64::MAX, 9, false)]
        {
            let mut body = flow(match length {
                0 => BodyFraming::Done,
                length => BodyFraming::Length(length),
            });
            // A part may have come with the head.
            let part = [b'x'; 4];
            let _ = body.decode(&part[..part.len().min(length as usize)], &mut Vec::new());
            assert_eq!(body.set_limit(most), fits, "{length} of {most}");
        }
    }

    proptest! {
        #[test]
        fn nothing_beyond_the_limit_leaves_a_chunked_body(
            sizes in prop::collection::vec(1usize..40, 0..8),
            most in 1u64..120,
            piece in 1usize..30,
            late in 0usize..200,
        ) {
            let mut coded = Vec::new();
            for size in &sizes {
                coded.extend(format!("{size:x}\r\n").bytes().chain(vec![b'x'; *size]).chain(*b"\r\n"));
            }
            coded.extend(*b"0\r\n\r\n");
            let total = sizes.iter().sum::<usize>() as u64;
            // Some bytes come before the limit is known.
            let late = late.min(coded.len());
            let mut body = flow(BodyFraming::Chunked(Box::new(ChunkedDecoder::new(ChunkedOutput::Chunked))));
            let mut out = Vec::new();
            body.decode(&coded[..late], &mut out).unwrap();
            let mut fits = body.set_limit(most);
            if fits {
                for part in coded[late..].chunks(piece) {
                    body.decode(part, &mut out).unwrap();
                    fits = !body.is_too_long();
                    if !fits {
                        break;
                    }
                }
                let mut data = Vec::new();
                let ended = ChunkedDecoder::new(ChunkedOutput::Unframed).feed(&out, &mut data).unwrap();
                prop_assert_eq!(ended.finished, fits);
                prop_assert!(data.len() as u64 <= most);
                prop_assert!(!fits || data.len() as u64 == total);
            }
            prop_assert_eq!(fits, total <= most);
        }
    }
}
