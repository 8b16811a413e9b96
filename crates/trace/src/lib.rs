//! Packet captures to findings: whose time it was, and why.
//!
//! Streaming and pure: it reads what it is handed and nothing else. `input` gives frames, `link` and `packet` find TCP
//! in them, `analysis` keeps connections, `judge` says what limited them, and `compose` makes the report.

pub mod address;
pub mod analysis;
pub mod compare;
pub mod compose;
pub mod conversation;
pub mod direction;
pub mod duplicate;
pub mod event;
pub mod filter;
pub mod input;
pub mod join;
pub mod judge;
pub mod ledger;
pub mod link;
pub mod output;
pub mod packet;
pub mod render;
pub mod report;
pub mod run;
pub mod scene;
pub mod sentence;
pub mod talk;
pub mod tally;
pub mod verdict;

mod bytes;
mod ranges;
mod stamps;
mod table;
