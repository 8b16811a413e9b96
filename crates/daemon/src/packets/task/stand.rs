//! Where packets are taken: at which interfaces, once the ways to servers are known.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::Duration;

use l4::abi;
use l4::hops::Link;
use model::config::Config;

use super::Life;
use crate::packets::view::InterfaceView;
use crate::packets::{attach, facts};

/// How long next hops may take before the first packet is taken.
const READY: Duration = Duration::from_millis(800);

impl Life {
    /// Stands before the interfaces, once the ways are known or have had their time.
    pub(super) fn stand(&mut self, config: &Config) {
        let Some(site) = &mut self.site else { return };
        let settled = site
            .hops
            .servers()
            .all(|ip| site.hops.state(ip).is_some_and(|state| state != l4::hops::State::Trying));
        if !settled && !site.adopted() && self.opened.elapsed() < READY {
            return;
        }
        let returns: BTreeSet<IpAddr> = facts::returns(config);
        let links = site.hops.all_links().clone();
        let names = attach::interfaces(config, &links, &self.addresses, &site.hops, &returns);
        let addresses = &self.addresses;
        let describe = |index: u32| {
            let (addr4, addr6) = attach::own(index, addresses);
            let mtu = links.get(&index).map_or(0, |link: &Link| link.mtu);
            abi::Interface { mtu, addr4, addr6, ..abi::Interface::default() }
        };
        let views = site.attach(&names, config.packets.mode, describe);
        for view in views.iter().filter(|view| !self.view.interfaces.contains(view)) {
            // Asked for, and frames are lost.
            if view.mode == Some("native") && view.problem.is_some() {
                self.events.warn("packets-interface", sentence(view));
            } else {
                self.events.info("packets-interface", sentence(view));
            }
        }
        for name in std::mem::take(&mut site.taken_off) {
            let text = format!("the packet plane's program was taken off {name}; it is back");
            self.events.warn("kernel-restored", text);
        }
        let none = views.iter().all(|view| view.mode.is_none());
        self.view.interfaces = views;
        self.view.settled = true;
        self.view.broken = none.then(|| match self.view.interfaces.first() {
            Some(view) => format!("no interface takes packets: {}", sentence(view)),
            None => {
                "no interface takes packets: name them in `interfaces` of `[packets]`".to_owned()
            }
        });
    }
}

fn sentence(view: &InterfaceView) -> String {
    match (&view.mode, &view.problem) {
        (Some(mode), None) => format!("{}: attached, {mode}", view.name),
        (Some(mode), Some(why)) => format!("{}: attached, {mode}; {why}", view.name),
        (None, Some(problem)) => problem.clone(),
        (None, None) => format!("{}: not attached", view.name),
    }
}
