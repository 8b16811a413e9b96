//! What a group has while it is active: its addresses, set, taken away and announced, each at its interface.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ha::frame;
use model::config::EventLevel;
use model::monotonic_time::MonotonicTime;

use super::super::interface::AddressPlacement;
use super::super::macvlan;
use super::{GroupContext, VrrpGroup};
use crate::planes::packets::netlink::AssignedAddress;
use crate::util::event::EventFields;

impl VrrpGroup {
    /// The addresses and the virtual router's MAC address, which the gate of the dead-man timer blocks.
    pub fn gated_addresses(&self) -> Vec<IpAddr> {
        let gated = self.config.fencing_timeout.is_some() && !self.has_preexisting_addresses;
        let all = self
            .config
            .floating_addresses()
            .map(|(ip, _)| ip)
            .chain(macvlan::gated_mac(&self.config));
        if gated { all.collect() } else { Vec::new() }
    }

    /// The address is held as long as others agree, which may be less long now, or longer, than when it was advertised.
    pub(super) fn renew_lease(&mut self, tools: &mut GroupContext<'_>) {
        let until = self.machine.lease_until();
        if self.state() == ha::state_machine::VrrpState::Active
            && self.needs_quorum
            && until != self.leased_until
        {
            self.leased_until = until;
            tools.gates.lease_addresses(&self.gated_addresses(), until);
        }
    }

    /// Where everything is that moves with it.
    pub(super) fn placements(&self) -> &[AddressPlacement] {
        self.interface.as_ref().map_or(&[], |ground| ground.placements.as_slice())
    }

    /// Attaches the gate to every interface with an address, also where another program had detached it.
    pub(super) fn attach_gate(&self, tools: &mut GroupContext<'_>) {
        let names: BTreeSet<&str> =
            self.config.floating_addresses().map(|(_, name)| name).collect();
        for name in tools.gates.attach(names) {
            let text = format!("the fencing program was removed from {name}; it is attached again");
            let about =
                EventFields::from([("group", self.config.name.clone()), ("interface", name)]);
            tools.events.emit(EventLevel::Warning, "kernel-restored", text, about);
        }
    }

    pub(super) async fn add_addresses(&mut self, tools: &mut GroupContext<'_>) {
        self.set_macvlan_up(true, tools).await;
        let places = self.placements().to_vec();
        self.set_addresses(&places, tools).await;
    }

    /// Closes the gate at once, then removes the addresses. Only then are they released from the gate.
    pub(super) async fn remove_addresses(
        &self,
        places: &[AddressPlacement],
        tools: &mut GroupContext<'_>,
    ) {
        if self.config.fencing_timeout.is_some() && !places.is_empty() {
            let shut = places.iter().map(|place| place.ip).chain(macvlan::gated_mac(&self.config));
            tools.gates.lease_addresses(&Vec::from_iter(shut), MonotonicTime(0));
        }
        // A macvlan is set down before it is changed, so that it sends nothing in the virtual router's name.
        if let (true, Some(router)) =
            (self.set_macvlan_up(false, tools).await, macvlan::gated_mac(&self.config))
        {
            tools.gates.remove_addresses(&[router]);
        }
        for place in places {
            match tools.kernel.remove_address(place.ifindex, place.ip).await {
                Ok(()) => tools.gates.remove_addresses(&[place.ip]),
                Err(error) => {
                    let at = self.interface_name(place);
                    let text = format!("{} cannot be taken from {at}: {error}", place.ip);
                    tools.events.error("member-refused", text);
                }
            }
        }
    }

    pub(super) fn announce_addresses(&mut self, tools: &GroupContext<'_>) {
        let mut failed = 0;
        for place in self.placements() {
            let frame = frame::announcement(place.ip, place.link);
            let ear = tools.rx_sockets.get(&place.port);
            let sent = ear.is_some_and(|ear| ear.send(&frame).is_ok());
            failed += u64::from(!sent);
        }
        *self.dropped.entry("not-announced").or_default() += failed;
    }

    /// The group's own link runs, or does not; whether that is so, and it has one.
    pub(super) async fn set_macvlan_up(&self, up: bool, tools: &GroupContext<'_>) -> bool {
        let Some(seat) = self.interface.as_ref().and_then(|ground| ground.macvlan) else {
            return false;
        };
        let set = tools.kernel.set_link_state(seat, up).await;
        if let Err(error) = &set {
            let name = &self.config.name;
            let how = if up { "up" } else { "down" };
            let text = format!("group {name}: its link cannot be set {how}: {error}");
            tools.events.error("member-refused", text);
        }
        set.is_ok()
    }

    /// Removes addresses that were set on the interface itself before the group had a macvlan.
    pub(super) async fn remove_interface_addresses(
        &self,
        addresses: &[AssignedAddress],
        tools: &GroupContext<'_>,
    ) {
        for place in self.placements().iter().filter(|place| place.port != place.ifindex) {
            let old = AssignedAddress { ifindex: place.port, ip: place.ip };
            if addresses.contains(&old) {
                // Both interfaces answer for the address until it is removed. On failure the next start removes it.
                let _ = tools.kernel.remove_address(old.ifindex, old.ip).await;
            }
        }
    }

    /// Removes the group's macvlan.
    pub(super) async fn forget_macvlan(&mut self, tools: &GroupContext<'_>) {
        let Some(seat) = self.macvlan.take() else { return };
        if let Err(error) = tools.kernel.remove_link(seat).await {
            let text = format!("group {}: its link cannot be removed: {error}", self.config.name);
            tools.events.error("member-refused", text);
        }
    }

    /// The name of the interface where an address is.
    pub(super) fn interface_name(&self, place: &AddressPlacement) -> &str {
        let found = self.config.floating_addresses().find(|(ip, _)| *ip == place.ip);
        found.map_or(self.config.interface.as_str(), |(_, name)| name)
    }
}
