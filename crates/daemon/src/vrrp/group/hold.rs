//! What a group has while it is active: its addresses, set, taken away and announced, each at its interface.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ha::frame;
use model::moment::Moment;

use super::super::ground::Place;
use super::super::seat;
use super::{Group, Tools};
use crate::event::Level;
use crate::packets::netlink::Address;

impl Group {
    /// What the dead man's gate keeps: the addresses, and the virtual router's link address.
    pub fn gated(&self) -> Vec<IpAddr> {
        let gated = self.config.dead_man.is_some() && !self.foreign;
        let all = self.config.moves().map(|(ip, _)| ip).chain(seat::gated(&self.config));
        if gated { all.collect() } else { Vec::new() }
    }

    /// The address is held as long as others agree, which may be less long now, or longer, than when it was advertised.
    pub(super) fn renew(&mut self, tools: &mut Tools<'_>) {
        let until = self.machine.hold();
        if self.state() == ha::machine::State::Active && self.witnessed && until != self.held {
            self.held = until;
            tools.gates.hold(&self.gated(), until);
        }
    }

    /// Where everything is that moves with it.
    pub(super) fn places(&self) -> &[Place] {
        self.ground.as_ref().map_or(&[], |ground| ground.places.as_slice())
    }

    /// The gate stands at every interface where something is; it is back where another program had taken it off.
    pub(super) fn guard(&self, tools: &mut Tools<'_>) {
        let names: BTreeSet<&str> = self.config.moves().map(|(_, name)| name).collect();
        for name in tools.gates.attach(names) {
            let text = format!("the dead man's gate was taken off {name}; it is back");
            let about = [("group", self.config.name.clone()), ("interface", name)];
            tools.events.tell(Level::Warning, "kernel-restored", text, &about);
        }
    }

    pub(super) async fn take(&mut self, tools: &mut Tools<'_>) {
        self.run(true, tools).await;
        let places = self.places().to_vec();
        self.set(&places, tools).await;
    }

    /// Shut at once, then taken away; only then is it no business of the gate any more.
    pub(super) async fn give(&self, places: &[Place], tools: &mut Tools<'_>) {
        if self.config.dead_man.is_some() && !places.is_empty() {
            let shut = places.iter().map(|place| place.ip).chain(seat::gated(&self.config));
            tools.gates.hold(&Vec::from_iter(shut), Moment(0));
        }
        // A link of its own is silent before anything leaves it, so that it says nothing of that in the others' name.
        if let (true, Some(router)) = (self.run(false, tools).await, seat::gated(&self.config)) {
            tools.gates.forget(&[router]);
        }
        for place in places {
            match tools.kernel.remove_address(place.ifindex, place.ip).await {
                Ok(()) => tools.gates.forget(&[place.ip]),
                Err(error) => {
                    let at = self.at(place);
                    let text = format!("{} cannot be taken from {at}: {error}", place.ip);
                    tools.events.error("member-refused", text);
                }
            }
        }
    }

    pub(super) fn announce(&mut self, tools: &Tools<'_>) {
        let mut failed = 0;
        for place in self.places() {
            let frame = frame::announcement(place.ip, place.link);
            let ear = tools.ears.get(&place.port);
            let sent = ear.is_some_and(|ear| ear.send(&frame).is_ok());
            failed += u64::from(!sent);
        }
        *self.dropped.entry("not-announced").or_default() += failed;
    }

    /// The group's own link runs, or does not; whether that is so, and it has one.
    pub(super) async fn run(&self, up: bool, tools: &Tools<'_>) -> bool {
        let Some(seat) = self.ground.as_ref().and_then(|ground| ground.seat) else { return false };
        let set = tools.kernel.set_link(seat, up).await;
        if let Err(error) = &set {
            let (name, how) = (&self.config.name, if up { "up" } else { "down" });
            let text = format!("group {name}: its link cannot be set {how}: {error}");
            tools.events.error("member-refused", text);
        }
        set.is_ok()
    }

    /// What was set on the interface itself before the group had a link of its own is on that one alone.
    pub(super) async fn vacate(&self, addresses: &[Address], tools: &Tools<'_>) {
        for place in self.places().iter().filter(|place| place.port != place.ifindex) {
            let old = Address { ifindex: place.port, ip: place.ip };
            if addresses.contains(&old) {
                // Both answer for it until it is gone; it is asked for again with the next beginning.
                let _ = tools.kernel.remove_address(old.ifindex, old.ip).await;
            }
        }
    }

    /// The group's own link is gone with it.
    pub(super) async fn raze(&mut self, tools: &Tools<'_>) {
        let Some(seat) = self.seat.take() else { return };
        if let Err(error) = tools.kernel.remove_link(seat).await {
            let text = format!("group {}: its link cannot be removed: {error}", self.config.name);
            tools.events.error("member-refused", text);
        }
    }

    /// The name of the interface where an address is.
    pub(super) fn at(&self, place: &Place) -> &str {
        let found = self.config.moves().find(|(ip, _)| *ip == place.ip);
        found.map_or(self.config.interface.as_str(), |(_, name)| name)
    }
}
