//! Has the links that groups' addresses are on, where they have the virtual router's link address.

use std::collections::BTreeMap;

use model::config::Config;

use super::super::macvlan;
use super::VrrpTask;

impl VrrpTask {
    /// Creates missing macvlans, and removes those of groups that no longer have one. Returns the errors by group.
    pub(super) async fn update_macvlans(&mut self, config: &Config) -> BTreeMap<String, String> {
        let mut problems = BTreeMap::new();
        let mut changed = false;
        for group in config.vrrp.values() {
            let (Some(kernel), Some(below)) =
                (&self.kernel, macvlan::parent_index(group, &self.links))
            else {
                continue;
            };
            match (group.virtual_mac(), macvlan::find_macvlan(group, below, &self.links)) {
                (Some(link), None) => {
                    let name = macvlan::macvlan_name(group, below);
                    match kernel.create_macvlan(&name, below, link).await {
                        Ok(()) => changed = true,
                        Err(error) => {
                            let at = &group.interface;
                            let text = format!("no virtual link address at {at}: {name}: {error}");
                            problems.insert(group.name.clone(), text);
                        }
                    }
                }
                (None, Some(left)) => changed |= kernel.remove_link(left).await.is_ok(),
                _ => {}
            }
        }
        if changed {
            self.network_changed = true;
            // If this fails, it is retried soon.
            let _ = self.refresh_kernel_state().await;
        }
        problems
    }
}
