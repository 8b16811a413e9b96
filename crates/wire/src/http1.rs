//! HTTP/1.0 and 1.1 (RFC 9110, RFC 9112), strict by default: a message that two parsers could read in two ways is
//! rejected.
//!
//! A head is parsed into a view of the caller's bytes. It is then rewritten for the other side, without hop-by-hop
//! fields and with its framing in one normal form. Bodies pass through [`ChunkedDecoder`], or the caller counts their
//! bytes. This module holds no buffer and no connection state: the caller tracks a body's progress and its time limits.
//!
//! Each [`Defect`] documents where this parser is stricter than the RFCs.

mod chunked;
mod connection;
mod defect;
mod defect_detail;
mod emit_local_reply;
mod emit_request;
mod emit_response;
mod field_set;
mod forwarded;
mod framing;
mod head;
mod head_summary;
pub(crate) mod header_name;
mod host;
mod lenient;
mod locate_defect;
pub(crate) mod number;
mod request;
mod reserved;
mod response;
mod target;
pub(crate) mod token;
mod trace_context;
mod trailer;

pub use chunked::{ChunkedDecoder, ChunkedOutput, ChunkedProgress};
pub use defect::Defect;
pub use defect_detail::DefectDetail;
pub use emit_local_reply::{DirectResponse, emit_direct_response, emit_local_reply};
pub use emit_request::{
    ForwardedPolicy, IdentityHeaders, RequestEdits, RequestIdHeader, TracePropagation, emit_request,
};
pub use emit_response::{
    ConnectionPersistence, ResponseEdits, SetCookieParts, emit_response, set_cookie,
};
pub use head::{HeadLimits, HeaderSlots, HttpVersion, may_complete};
pub use host::is_host;
pub use httparse::Header;
pub use lenient::{HeadRepair, LenientParsing, repair_response_head};
pub use request::{BodyKind, HttpMethod, ParsedRequestHead, parse_request};
pub use reserved::ReservedHeaders;
pub use response::{ParsedResponseHead, ResponseBody, ResponseContext, parse_response};
pub use trace_context::TraceContext;
