//! HTTP/1.0 and 1.1 (RFC 9110, RFC 9112), strict by default: what two parsers could read in two ways is refused.
//!
//! A head is parsed into a view of the caller's bytes, and written again for the other side with hop-by-hop fields
//! removed and its framing in one normal form. Bodies pass through [`Chunked`] or are counted by the caller. This module
//! holds no buffer and no connection state, so a body's progress and time limits are the caller's.
//!
//! What is stricter than the RFCs, and what is not, is listed with each [`Defect`].

mod bits;
mod chunked;
mod connection;
mod defect;
mod diagnose;
mod emit_error;
mod emit_request;
mod emit_response;
mod facts;
mod forwarded;
mod framing;
mod head;
mod host;
mod lenient;
pub(crate) mod name;
pub(crate) mod number;
mod offence;
mod request;
mod reserved;
mod response;
mod target;
pub(crate) mod token;
mod trace_context;
mod trailer;

pub use chunked::{Chunked, Emit, Fed};
pub use defect::Defect;
pub use emit_error::{Made, emit_error, emit_made};
pub use emit_request::{Identity, RequestEdits, Tracing, Treatment, emit_request};
pub use emit_response::{Persist, ResponseEdits, emit_response, set_cookie};
pub use head::{Limits, Slots, Version, may_complete};
pub use host::is_host;
pub use httparse::Header;
pub use lenient::{HeadRepair, Lenient, mend_answer};
pub use offence::Offence;
pub use request::{BodyKind, Method, Request, parse_request};
pub use reserved::Reserved;
pub use response::{AnswerBody, Asked, Response, parse_response};
pub use trace_context::TraceContext;
