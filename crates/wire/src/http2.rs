//! HTTP/2 (RFC 9113): the machine of a connection, header compression, and heads of streams written as HTTP/1.1 text.
//!
//! A message that arrives in HTTP/2 is written as HTTP/1.1 and then parsed by [`crate::http1`], so that the same rules
//! apply to both protocols. Violations that only HTTP/2 can have are found by the machine, or while writing.

mod abuse;
mod body;
mod error_code;
mod event;
mod field;
mod flow_control;
mod frame_input;
mod frame_type;
mod frames;
mod head_rules;
pub mod hpack;
mod machine;
mod output_buffer;
mod priority;
mod request;
mod response;
mod scheduler;
mod section_head;
mod settings;
mod stream_record;

pub use crate::field_section::FieldSection;
pub use abuse::{AbuseKind, AbuseLimits};
pub use body::Http1BodyFraming;
pub use error_code::ErrorCode;
pub use event::{
    BodyPart, ClosedStream, Http2Event, MachineCounters, OpenRefusal, ResetOrigin, StreamReset,
};
pub use frames::PREFACE;
pub use machine::{Http2Machine, MachineLimits};
pub use priority::StreamPriority;
pub use request::{RequestHead, write_request};
pub use response::{ResponseHead, write_response};
pub use section_head::{
    WrittenHead, is_extended_connect, response_status, write_response_section, write_section,
    write_trailer_lines,
};
