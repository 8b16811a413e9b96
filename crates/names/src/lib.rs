//! DNS answers for services and servers, decided.
//!
//! A query's bytes, the book of what may be answered and the time go in; an answer's bytes and what it came to come out.
//! It opens no socket, reads no clock and asks nobody: the daemon does.

pub mod answer;
pub mod book;
pub mod candidate;
mod chance;
pub mod cookie;
pub mod counts;
pub mod delegation;
pub mod desk;
pub mod domain;
pub mod edns;
pub mod explain;
pub mod limit;
pub mod near;
pub mod plan;
pub mod question;
mod record;
pub mod set;
mod write;
