//! DNS answers for services and servers.
//!
//! A query's bytes, the zone data and the time go in; an answer's bytes and the query's fate come out. It opens no
//! socket, reads no clock and sends no query: the daemon does.

pub mod address_set;
pub mod answer;
pub mod candidate;
pub mod client_networks;
pub mod cookie;
pub mod counts;
pub mod delegation;
pub mod domain;
pub mod edns;
pub mod explain;
mod message;
pub mod question;
pub mod rate_limit;
mod record;
pub mod responder;
mod turn_order;
pub mod zone_data;
pub mod zone_plan;
