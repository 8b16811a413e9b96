//! `agent`: how servers of a pool report their load.

mod build;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_agent;
pub(super) use keys::AGENT;
pub(super) use resolve::fill_agent_defaults;
pub use types::{AgentConfig, AgentKind};
pub(super) use verify::verify_agent;
