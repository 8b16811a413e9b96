//! Which containers of a Compose file are published without a label of their own.

use crate::notes::ConversionNotes;

use super::option_tree::{OptionNode, parse_flag};

/// `exposedByDefault` of the providers. A switch that cannot be read publishes nothing.
pub fn exposes_by_default(options: &OptionNode) -> bool {
    ["docker", "swarm"].iter().all(|provider| {
        let switch = options.find(&["providers", provider, "exposedByDefault"]);
        let text = switch.and_then(OptionNode::as_text);
        text.is_none_or(|text| parse_flag(text).unwrap_or(false))
    })
}

/// Variables can hold every setting of Traefik, such as whether containers are published: nothing is written of a file
/// with such variables.
pub fn refuse_environment(service: &OptionNode, notes: &mut ConversionNotes) {
    let Some(environment) = service.get("environment") else { return };
    let is_setting = |text: &str| text.trim().to_ascii_uppercase().starts_with("TRAEFIK_");
    let found = environment
        .children()
        .iter()
        .find(|one| is_setting(&one.key) || one.as_text().is_some_and(is_setting));
    if let Some(found) = found {
        let reason = "settings of Traefik in the environment are not read";
        notes.unreadable(
            found.place(),
            &found.text,
            reason,
            "write them as arguments in `command`",
        );
    }
}
