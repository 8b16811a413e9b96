//! The interfaces at which packets are taken, once the routes to servers are known.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use l4::abi;
use l4::next_hops::NextHopLink;
use model::config::Config;

use super::PacketPlaneTask;
use crate::planes::packets::host_facts;
use crate::planes::packets::interface_selection::{IcmpSources, own_addresses, wanted_interfaces};
use crate::planes::packets::view::PlaneInterfaceView;

/// How long to wait for next hops before the first packet is forwarded.
/// As long as a next hop may take to answer (`REPLY_TIMEOUT`).
const READY: Duration = Duration::from_millis(800);

impl PacketPlaneTask {
    /// Attaches to the interfaces once next hops are known or their time is over.
    pub(super) fn attach_interfaces(&mut self, config: &Config) {
        let Some(site) = &mut self.open_plane else { return };
        let settled = site.hops.servers().all(|ip| {
            site.hops.state(ip).is_some_and(|state| state != l4::next_hops::NextHopState::Trying)
        });
        if !settled && !site.is_adopted() && self.opened_at.elapsed() < READY {
            return;
        }
        let returns: BTreeSet<IpAddr> = host_facts::return_addresses(config);
        let links = site.hops.all_links().clone();
        let names = wanted_interfaces(config, &links, &self.addresses, &site.hops, &returns);
        let addresses = &self.addresses;
        let describe = |index: u32| {
            let IcmpSources { v4: addr4, v6: addr6 } = own_addresses(index, addresses);
            let mtu = links.get(&index).map_or(0, |link: &NextHopLink| link.mtu);
            abi::Interface { mtu, addr4, addr6, ..abi::Interface::default() }
        };
        let views = site.attach(&names, config.packets.mode, describe);
        for view in views.iter().filter(|view| !self.view.interfaces.contains(view)) {
            // Native mode was configured, and frames are lost.
            if view.mode == Some("native") && view.last_error.is_some() {
                self.events.warn("packets-interface", describe_fallback(view));
            } else {
                self.events.info("packets-interface", describe_fallback(view));
            }
        }
        for name in std::mem::take(&mut site.detached) {
            let text = format!("the packet plane's program was taken off {name}; it is back");
            self.events.warn("kernel-restored", text);
        }
        let none = views.iter().all(|view| view.mode.is_none());
        self.view.interfaces = views;
        self.view.is_settled = true;
        self.view.last_error = none.then(|| match self.view.interfaces.first() {
            Some(view) => format!("no interface takes packets: {}", describe_fallback(view)),
            None => {
                "no interface takes packets: name them in `interfaces` of `[packets]`".to_owned()
            }
        });
    }
}

fn describe_fallback(view: &PlaneInterfaceView) -> String {
    match (&view.mode, &view.last_error) {
        (Some(mode), None) => format!("{}: attached, {mode}", view.name),
        (Some(mode), Some(why)) => format!("{}: attached, {mode}; {why}", view.name),
        (None, Some(problem)) => problem.clone(),
        (None, None) => format!("{}: not attached", view.name),
    }
}
