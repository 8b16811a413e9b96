//! HTTP/2 (RFC 9113) in the form of HTTP/1.1: heads of streams written as HTTP/1.1 text, and what frames go by.
//!
//! Whatever came in HTTP/2 is written as HTTP/1.1 and then read by [`crate::http1`], so that both protocols meet the
//! same rules; what only HTTP/2 can get wrong is refused while writing. Frames, flow control and header compression are
//! not here: [`Watch`] only looks at them as they pass.

mod answer;
mod body;
mod field;
mod request;
mod watch;

pub use answer::{AnswerHead, write_answer};
pub use body::Body;
pub use request::{RequestHead, write_request};
pub use watch::{Frame, Kind, Watch};
