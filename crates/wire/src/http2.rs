//! HTTP/2 (RFC 9113) in the form of HTTP/1.1: heads of streams written as HTTP/1.1 text, and what frames go by.
//!
//! Whatever came in HTTP/2 is written as HTTP/1.1 and then read by [`crate::http1`], so that both protocols meet the
//! same rules; what only HTTP/2 can get wrong is refused while writing. Frames, flow control and header compression are
//! not here: [`FrameObserver`] only looks at them as they pass.

mod body;
mod field;
mod frame_observer;
mod request;
mod response;

pub use body::Http1BodyFraming;
pub use frame_observer::{FrameObserver, FrameType, ObservedFrame};
pub use request::{RequestHead, write_request};
pub use response::{ResponseHead, write_response};
