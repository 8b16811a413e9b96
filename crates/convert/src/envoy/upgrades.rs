//! `upgrade_configs`: whether requests may become WebSocket connections, on all routes or on some.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value;

use super::reader::{leave_out, take_flag, take_text};
use super::rule::EnvoyRule;

/// Which routes of a connection manager take upgrades to WebSocket.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpgradePolicy {
    /// Routes without a setting of their own take them.
    pub is_on: bool,
    /// Some routes have a setting of their own, so that each route has a rule for it.
    pub differs: bool,
}

impl UpgradePolicy {
    /// Reads the setting of a connection manager and looks through its routes.
    pub fn read(manager: &ConfigNode, notes: &mut ConversionNotes) -> UpgradePolicy {
        let hosts = manager.get("route_config").and_then(|config| config.get("virtual_hosts"));
        let routes = hosts.map(ConfigNode::items).unwrap_or_default().iter();
        let mut routes =
            routes.flat_map(|host| host.get("routes").map(ConfigNode::items).unwrap_or_default());
        let differs = routes
            .any(|route| route.get("route").is_some_and(|action| action.has("upgrade_configs")));
        UpgradePolicy { is_on: takes_websockets(manager, notes).unwrap_or(false), differs }
    }

    /// The rule that refuses upgrades on all routes, as Envoy does where they are not switched on.
    pub fn refusal(self, source: SourcePlace) -> Option<EnvoyRule> {
        (!self.is_on && !self.differs).then(|| refusal(RuleCondition::Is(true), source))
    }

    /// The rule that refuses upgrades on a route with this condition.
    pub fn route_refusal(
        self,
        action: &ConfigNode,
        when: RuleCondition,
        notes: &mut ConversionNotes,
    ) -> Option<EnvoyRule> {
        let takes = takes_websockets(action, notes).unwrap_or(self.is_on);
        (self.differs && !takes).then(|| refusal(when, action.source))
    }
}

fn refusal(when: RuleCondition, source: SourcePlace) -> EnvoyRule {
    let upgrade = RuleCondition::AnyCase("header", vec![value::quote("upgrade: websocket")]);
    EnvoyRule::refusal(upgrade.and(when), Some(403), source, "upgrades are not switched on")
}

/// Whether upgrades to WebSocket are switched on. `None` if nothing is said of them.
fn takes_websockets(node: &ConfigNode, notes: &mut ConversionNotes) -> Option<bool> {
    let mut takes = None;
    for upgrade in node.get("upgrade_configs").map(ConfigNode::items).unwrap_or_default() {
        let kind = take_text(upgrade, "upgrade_type", notes).unwrap_or_default();
        let enabled = take_flag(upgrade, "enabled", notes).unwrap_or(true);
        if kind.eq_ignore_ascii_case("websocket") {
            takes = Some(enabled || takes == Some(true));
        } else {
            leave_out(
                upgrade,
                "no other protocol than WebSocket is tunneled",
                "a `tcp` service",
                notes,
            );
        }
        if let Some(filters) = upgrade.get("filters") {
            leave_out(filters, "upgrades pass the same rules as requests", "", notes);
        }
    }
    takes
}
