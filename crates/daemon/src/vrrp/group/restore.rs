//! What a group set in the kernel stays set while it is active: what another program takes away is set again, announced
//! and reported. Where the kernel refuses all of it the member gives up, so that another one takes over.

use std::net::IpAddr;
use std::time::Duration;

use ha::machine::State;

use super::super::alive::now;
use super::super::ground::Place;
use super::super::restored::Here;
use super::{Group, Tools};
use crate::event::Level;
use crate::packets::netlink::Address;

/// Two programs that set and remove by turns must not keep this thread from its advertisements.
const PAUSE: Duration = Duration::from_millis(100);
/// Between two reports that something was set again.
const REPORT: Duration = Duration::from_secs(10);
/// Between two looks at what the kernel gives no notice of.
const LOOK: Duration = Duration::from_secs(5);
impl Group {
    /// Sets again what is not there any more. `here` may be older than what was set last.
    pub(super) async fn restore(&mut self, here: Here<'_>, tools: &mut Tools<'_>) {
        if self.restored.looked.is_none_or(|at| now().since(at) >= LOOK) {
            self.restored.looked = Some(now());
            self.look_again(tools).await;
        }
        let early = self.restored.at.is_some_and(|at| now().since(at) < PAUSE);
        if self.state() != State::Active || early || (self.whole(here) && self.runs(here)) {
            return;
        }
        let (Ok(links), Ok(addresses)) =
            (tools.kernel.links().await, tools.kernel.addresses().await)
        else {
            return;
        };
        let here = Here { addresses: &addresses, links: &links };
        let gone: Vec<Place> = self.missing(here).copied().collect();
        let stopped = !self.runs(here);
        if gone.is_empty() && !stopped {
            return;
        }
        if stopped {
            self.run(true, tools).await;
        }
        let set = self.set(&gone, tools).await;
        if set.is_empty() && !stopped {
            return;
        }
        self.restored.at = Some(now());
        self.restored.count += set.len() as u64;
        self.machine.announce_again(now());
        self.tell_restored(&set, tools);
    }

    /// What changes without a notice: the gate's programs, and how the interface answers for addresses.
    async fn look_again(&mut self, tools: &mut Tools<'_>) {
        if self.config.dead_man.is_some() {
            self.guard(tools);
        }
        let Some((ground, seat)) = self.ground.as_ref().and_then(|it| it.seat.map(|at| (it, at)))
        else {
            return;
        };
        let text = match tools.kernel.renew_seat(seat, ground.ifindex).await {
            Ok(false) => return,
            Ok(true) => "was changed by another program; it is as it was".to_owned(),
            Err(error) => format!("was changed by another program, and stays so: {error}"),
        };
        let (group, interface) = (self.config.name.clone(), self.config.interface.clone());
        let text = format!(
            "group {group}: how {interface} and the group's own link answer to ARP (arp_ignore, arp_announce, rp_filter) {text}"
        );
        let about = [("group", group), ("interface", interface)];
        tools.events.tell(Level::Warning, "kernel-restored", text, &about);
    }

    /// Sets addresses; those that are set now.
    pub(super) async fn set(&mut self, places: &[Place], tools: &mut Tools<'_>) -> Vec<IpAddr> {
        let (mut set, mut missing) = (Vec::new(), Vec::new());
        for place in places {
            match tools.kernel.add_address(place.ifindex, place.ip).await {
                Ok(()) => set.push(place.ip),
                Err(error) => {
                    let at = self.at(place);
                    missing.push(format!("{} cannot be set on {at}: {error}", place.ip));
                }
            }
        }
        let text = (!missing.is_empty()).then(|| missing.join("; "));
        let Some(text) = text else {
            self.restored.complete();
            return set;
        };
        if self.restored.missing.as_ref().is_none_or(|(_, before)| *before != text) {
            tools.events.error("member-refused", format!("group {}: {text}", self.config.name));
        }
        if missing.len() == self.places().len() {
            self.restored.refuse(now(), text.clone());
        }
        self.restored.missing = Some((now(), text));
        set
    }

    fn missing(&self, here: Here<'_>) -> impl Iterator<Item = &Place> {
        self.places().iter().filter(move |place| {
            let wanted = Address { ifindex: place.ifindex, ip: place.ip };
            !(here.addresses.contains(&wanted) || self.foreign && has(here, place.ip))
        })
    }

    fn whole(&self, here: Here<'_>) -> bool {
        self.missing(here).next().is_none()
    }

    /// Its own link runs, if it has one.
    fn runs(&self, here: Here<'_>) -> bool {
        let seat = self.ground.as_ref().and_then(|ground| ground.seat);
        seat.is_none_or(|seat| here.links.get(&seat).is_some_and(|link| link.up))
    }

    fn tell_restored(&mut self, set: &[IpAddr], tools: &Tools<'_>) {
        if self.restored.told.is_some_and(|at| now().since(at) < REPORT) {
            return;
        }
        self.restored.told = Some(now());
        let (group, interface) = (&self.config.name, &self.config.interface);
        let list = set.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ");
        let text = if set.is_empty() {
            format!("group {group}: another program had set its link down; it is up again")
        } else {
            format!(
                "group {group}: another program had taken {list} away; it is set again and announced"
            )
        };
        let about = [
            ("group", group.clone()),
            ("interface", interface.clone()),
            ("addresses", list),
            ("count", self.restored.count.to_string()),
        ];
        tools.events.tell(Level::Warning, "kernel-restored", text, &about);
    }
}

fn has(here: Here<'_>, ip: IpAddr) -> bool {
    here.addresses.iter().any(|one| one.ip == ip)
}
