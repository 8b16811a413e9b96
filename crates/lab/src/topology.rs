//! Networks from a file: hosts, routers, bridges, and links between them with what their packets meet.
//!
//! `file` reads and checks, `build` makes what was planned out of namespaces, `record` knows what stands. No traffic is
//! made here.

pub mod build;
pub mod file;
pub mod net;
pub mod plan;
pub mod record;

mod link;
mod section;
