//! Effective settings of a pool: inheritance, and defaults that depend on the services that use it.

use super::keys::POOL;
use crate::config::agent::fill_agent_defaults;
use crate::config::balance::fill_balance_defaults;
use crate::config::default_bounds::raise_default;
use crate::config::pool_usage::PoolUsage;
use crate::config::probe::{resolve_probe, resolve_probe_tls};
use crate::config::section::{
    ConfigSection, ContentView, SettingContent, SettingOrigin, SettingView,
};
use crate::config::server::resolve_server;
use crate::config::setting_layers::{LayerTier, layers, resolve_layers};
use crate::config::value::ConfigValue;

pub fn resolve_pool(
    written: &ConfigSection,
    above: &ConfigSection,
    uses: PoolUsage,
) -> ConfigSection {
    let mut pool = resolve_layers(&POOL, &layers(written, above, LayerTier::Global), false);
    pool.name.clone_from(&written.name);
    if let Some(balance) = pool.table_mut("balance") {
        fill_balance_defaults(balance, uses);
    }
    let tls = resolve_probe_tls(&pool);
    resolve_probe(&mut pool, tls.as_ref());
    if let Some(agent) = pool.table_mut("agent") {
        fill_agent_defaults(agent);
    }
    if let Some(retry) = pool.table_mut("retry") {
        raise_default(retry, "max-back-off", "back-off", 1);
    }
    if let Some(http2) = pool.table_mut("http2") {
        raise_default(http2, "max-window", "window", 1);
    }
    let servers: Vec<ConfigSection> = written
        .list("servers")
        .iter()
        .map(|one| resolve_server(one, written, tls.as_ref()))
        .collect();
    if pool.setting("initial").is_none() {
        let probed =
            !servers.is_empty() && servers.iter().all(|server| server.table("probe").is_some());
        let (word, why) = if probed {
            ("unknown", "its servers have probes")
        } else {
            ("up", "not every server has a probe")
        };
        pool.set("initial", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    if pool.setting("all-down").is_none() {
        let (word, why) = if uses.packets && !uses.http && !uses.tcp {
            ("spread", "only packets are forwarded to the pool")
        } else {
            ("refuse", "not only packets are forwarded to the pool")
        };
        pool.set("all-down", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    if let Some(found) = POOL.find("servers")
        && let Some(SettingView { content: ContentView::List(_), origin }) = pool.setting("servers")
    {
        pool.set_slot(found.at, SettingContent::List(servers), origin);
    }
    pool.shrink();
    pool
}
