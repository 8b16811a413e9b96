//! Defaults of an agent that follow from its kind.

use super::keys::KEYS_BY_AGENT_KIND;
use crate::config::default_bounds::{cap_default, raise_default};
use crate::config::section::ConfigSection;

pub fn fill_agent_defaults(agent: &mut ConfigSection) {
    cap_default(agent, "timeout", "interval");
    raise_default(agent, "max-age", "interval", 3);
    let kind = agent.text("kind").unwrap_or_default().to_owned();
    for (key, kinds) in KEYS_BY_AGENT_KIND {
        if !kinds.contains(&kind.as_str()) && !agent.is_written(key) {
            agent.clear(key);
        }
    }
}
