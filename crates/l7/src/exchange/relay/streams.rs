//! Detects event streams and gRPC by media type (WHATWG HTML §9.2, gRPC over HTTP/2).
//!
//! Both sides of such a stream may be silent for long. The pool configures the timeout.

use wire::http1::{ParsedResponseHead, ResponseBody};

use crate::exchange::flow::BodyFraming;
use crate::exchange::incoming_request::IncomingRequest;
use crate::rt::NetDriver;

/// Whether a request starts a stream of messages.
pub(super) fn request_streams<N: NetDriver>(incoming: &IncomingRequest<N>) -> bool {
    if matches!(incoming.body.framing, BodyFraming::Done) {
        return false;
    }
    incoming.view().field(b"content-type").any(is_grpc)
}

/// Whether a response is such a stream: one of unknown length.
pub(super) fn answer_streams(response: &ParsedResponseHead) -> bool {
    if !matches!(response.body, ResponseBody::Chunked | ResponseBody::UntilClose) {
        return false;
    }
    let mut fields = response.headers.iter();
    let of_type = |name: &str| name.len() == 12 && name.eq_ignore_ascii_case("content-type");
    let media = fields.find(|header| of_type(header.name)).map(|header| header.value);
    media.is_some_and(|media| is_grpc(media) || has_prefix(media, b"text/event-stream"))
}

fn is_grpc(media: &[u8]) -> bool {
    has_prefix(media, b"application/grpc")
}

fn has_prefix(media: &[u8], wanted: &[u8]) -> bool {
    let media = media.trim_ascii_start();
    let start = media.get(..wanted.len());
    let ends = media.get(wanted.len()).is_none_or(|next| !next.is_ascii_alphanumeric());
    ends && start.is_some_and(|start| start.eq_ignore_ascii_case(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_of_streams_are_known_with_their_parameters_and_codings() {
        for (media, grpc, events) in [
            ("application/grpc", true, false),
            ("Application/gRPC+proto", true, false),
            ("application/grpc-web+proto", true, false),
            ("application/grpcish", false, false),
            ("text/event-stream; charset=utf-8", false, true),
            (" TEXT/EVENT-STREAM", false, true),
            ("text/event-streams", false, false),
            ("text/html", false, false),
            ("", false, false),
        ] {
            let media = media.as_bytes();
            assert_eq!((is_grpc(media), has_prefix(media, b"text/event-stream")), (grpc, events));
        }
    }
}
