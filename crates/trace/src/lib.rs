//! Packet captures to findings: who owns the time, and why.
//!
//! Streaming and pure: it reads only its input. `input` yields frames, `link` and `packet` find TCP in them, `analysis`
//! collects connections, `attribution` finds their limits, and `report_builder` makes the report.

pub mod address;
pub mod analysis;
pub mod attribution;
pub mod capture_facts;
pub mod compare;
pub mod conversation;
pub mod diagnosis;
pub mod direction;
pub mod display_filter;
pub mod duplicate;
pub mod event;
pub mod failure;
pub mod failure_tally;
pub mod filter;
pub mod ingest;
pub mod input;
pub mod join;
pub mod ledger;
pub mod limit_tally;
pub mod link;
pub mod open_exchange;
pub mod output;
pub mod packet;
pub mod payload;
pub mod progress;
pub mod quic;
pub mod render;
pub mod report;
pub mod report_builder;
pub mod retirement;
pub mod scene;
pub mod sentence;
pub mod unread_frames;

mod bytes;
mod connection_table;
mod failure_text;
mod ranges;
mod tcp_timestamps;
mod unseen;
