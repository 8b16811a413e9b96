//! What a group has while it is active: its addresses, set, taken away and announced, each at its interface.

use std::collections::BTreeSet;
use std::net::IpAddr;

use ha::frame;
use model::moment::Moment;

use super::super::ground::Place;
use super::{Group, Tools};

impl Group {
    /// The addresses that the dead man's gate keeps.
    pub fn gated(&self) -> Vec<IpAddr> {
        let gated = self.config.dead_man.is_some() && !self.foreign;
        let all = self.config.moves().map(|(ip, _)| ip);
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

    /// The gate stands at every interface where something is.
    pub(super) fn guard(&self, tools: &mut Tools<'_>) {
        let names: BTreeSet<&str> = self.config.moves().map(|(_, name)| name).collect();
        tools.gates.attach(names);
    }

    pub(super) async fn take(&self, tools: &mut Tools<'_>) {
        for place in self.places() {
            if let Err(error) = tools.kernel.add_address(place.ifindex, place.ip).await {
                let text = format!("{} cannot be set on {}: {error}", place.ip, self.at(place));
                tools.events.error("member-refused", text);
            }
        }
    }

    /// Shut at once, then taken away; only then is it no business of the gate any more.
    pub(super) async fn give(&self, places: &[Place], tools: &mut Tools<'_>) {
        if self.config.dead_man.is_some() && !places.is_empty() {
            let shut: Vec<IpAddr> = places.iter().map(|place| place.ip).collect();
            tools.gates.hold(&shut, Moment(0));
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
            let ear = tools.ears.get(&place.ifindex);
            let sent = ear.is_some_and(|ear| ear.send(&frame).is_ok());
            failed += u64::from(!sent);
        }
        *self.dropped.entry("not-announced").or_default() += failed;
    }

    /// The name of the interface where an address is.
    fn at(&self, place: &Place) -> &str {
        let found = self.config.moves().find(|(ip, _)| *ip == place.ip);
        found.map_or(self.config.interface.as_str(), |(_, name)| name)
    }
}
