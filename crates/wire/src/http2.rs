//! HTTP/2 (RFC 9113) translated to HTTP/1.1: heads of streams written as HTTP/1.1 text, and an observer of frames.
//!
//! A message that arrives in HTTP/2 is written as HTTP/1.1 and then parsed by [`crate::http1`], so that the same rules
//! apply to both protocols. Violations that only HTTP/2 can have are rejected while writing. Frames, flow control and
//! header compression are not handled here: [`FrameObserver`] only watches frames as they pass.

mod body;
mod field;
mod frame_observer;
mod request;
mod response;

pub use body::Http1BodyFraming;
pub use frame_observer::{FrameObserver, FrameType, ObservedFrame};
pub use request::{RequestHead, write_request};
pub use response::{ResponseHead, write_response};
