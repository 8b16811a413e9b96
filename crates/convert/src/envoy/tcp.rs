//! `tcp_proxy`: connections that go to a cluster or to a split.

use crate::condition::RuleCondition;
use crate::document::SourcedValue;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::structured::node::ConfigNode;
use crate::value::{self, KeyValue};

use super::access_log::read_logs;
use super::clusters::{ClusterPools, PoolSettings};
use super::default_times::{IDLE_MS, NEVER_MS};
use super::fields::settle_rest;
use super::reader::{leave_out, take_number, take_text, take_time};
use super::rule::EnvoyRule;

/// The rule of a proxy of connections, and the idle time of its tunnels.
pub struct TcpTarget {
    pub rule: EnvoyRule,
    pub idle_ms: u64,
    pub idle_source: SourcePlace,
}

pub fn read_proxy(
    node: &ConfigNode,
    pools: &mut ClusterPools,
    access_log: &mut Option<SourcedValue>,
    notes: &mut ConversionNotes,
) -> TcpTarget {
    let attempts = take_number(node, "max_connect_attempts", notes);
    let mut settings = PoolSettings { is_tcp: true, ..PoolSettings::default() };
    let source = node.get("max_connect_attempts").map_or(SourcePlace::NONE, |field| field.source);
    settings.set(
        "retries",
        attempts.unwrap_or(1).clamp(1, 11).saturating_sub(1).to_string(),
        source,
    );
    let idle = take_time(node, "idle_timeout", notes);
    let idle_ms = match idle.map_or(IDLE_MS, |time| time.ms) {
        0 => NEVER_MS,
        ms => ms.min(NEVER_MS),
    };
    if let Some(log) = read_logs(node, notes) {
        access_log.get_or_insert(log);
    }
    let when = RuleCondition::Is(true);
    let mut target = read_target(node, &settings, pools, notes);
    if let Some(field) = node.get("tunneling_config") {
        leave_out(field, "no CONNECT is sent to servers", "a proxy of its own", notes);
        target = None;
    }
    let rule = match target {
        Some(target) => EnvoyRule {
            when,
            keys: vec![target],
            source: node.source,
            text: "tcp_proxy".to_owned(),
        },
        None => {
            let reason = "there is no pool for it: such connections are refused";
            leave_out(node, reason, "a rule with `pool`", notes);
            EnvoyRule::refusal(when, None, node.source, "tcp_proxy")
        }
    };
    settle_rest("tcp_proxy", node, notes);
    TcpTarget { rule, idle_ms, idle_source: idle.map_or(SourcePlace::NONE, |time| time.source) }
}

fn read_target(
    node: &ConfigNode,
    settings: &PoolSettings,
    pools: &mut ClusterPools,
    notes: &mut ConversionNotes,
) -> Option<KeyValue> {
    if let Some(cluster) = take_text(node, "cluster", notes) {
        if pools.chooses_subset(node, cluster) {
            return None;
        }
        return pools
            .want(cluster, settings, notes)
            .map(|pool| KeyValue::new("pool", value::quote(&pool)));
    }
    let mut shares = Vec::new();
    let weighted = node.get("weighted_clusters")?;
    for item in weighted.get("clusters").map(ConfigNode::items).unwrap_or_default() {
        let name = take_text(item, "name", notes).unwrap_or_default();
        let weight = take_number(item, "weight", notes).unwrap_or(0).min(1_000_000);
        if pools.chooses_subset(node, name) || pools.chooses_subset(item, name) {
            return None;
        }
        let pool = pools.want(name, settings, notes)?;
        let pair = [
            KeyValue::new("pool", value::quote(&pool)),
            KeyValue::new("weight", weight.to_string()),
        ];
        shares.push(value::table(&pair));
    }
    (!shares.is_empty()).then(|| KeyValue::new("split", value::list(shares)))
}
