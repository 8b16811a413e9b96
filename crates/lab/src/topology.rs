//! Networks from a file: hosts, routers, bridges, and the links between them with their delays, rates and losses.
//!
//! `file` parses and checks, `build` creates namespaces from the plan, `record` stores which networks are running. This
//! module sends no traffic.

pub mod build;
pub mod file;
pub mod net;
pub mod plan;
pub mod record;

mod link;
mod section;
