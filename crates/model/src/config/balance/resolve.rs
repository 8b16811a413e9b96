//! Defaults of load balancing that depend on the services that use the pool.

use super::keys::KEYS_BY_POLICY;
use crate::config::pool_usage::PoolUsage;
use crate::config::section::{ConfigSection, SettingOrigin};
use crate::config::value::ConfigValue;

pub fn fill_balance_defaults(balance: &mut ConfigSection, uses: PoolUsage) {
    if balance.setting("by").is_none() {
        let (word, why) = if uses.http {
            ("least-request", "an http service uses the pool")
        } else {
            ("round-robin", "no http service uses the pool")
        };
        balance.set("by", ConfigValue::Keyword(word), SettingOrigin::Derived(why));
    }
    let by = balance.text("by").unwrap_or_default().to_owned();
    for (key, owners) in KEYS_BY_POLICY {
        if !owners.contains(&by.as_str()) && !balance.is_written(key) {
            balance.clear(key);
        }
    }
}
