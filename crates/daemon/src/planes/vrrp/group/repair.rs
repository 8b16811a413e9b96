//! What a group set in the kernel stays set while it is active: what another program takes away is set again, announced
//! and reported. Where the kernel refuses all of it the member gives up, so that another one takes over.

use std::net::IpAddr;
use std::time::Duration;

use ha::state_machine::VrrpState;

use model::config::EventLevel;

use super::super::address_repair::{KernelAddresses, MissingAddresses};
use super::super::interface::AddressPlacement;
use super::{GroupContext, VrrpGroup};
use crate::planes::packets::netlink::AssignedAddress;
use crate::util::event::EventFields;
use crate::util::monotonic_clock::monotonic_now;

/// Limits how often addresses are restored: two programs that set and remove them in turns must not delay
/// advertisements.
const RESTORE_INTERVAL: Duration = Duration::from_millis(100);
/// The interval between two log entries about restored addresses.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// The interval between checks of settings that the kernel sends no notification for.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
impl VrrpGroup {
    /// Restores missing addresses. `here` may be older than the latest changes.
    pub(super) async fn restore_addresses(
        &mut self,
        here: KernelAddresses<'_>,
        tools: &mut GroupContext<'_>,
    ) {
        if self.repair.last_checked.is_none_or(|at| monotonic_now().since(at) >= CHECK_INTERVAL) {
            self.repair.last_checked = Some(monotonic_now());
            self.recheck_unnotified(tools).await;
        }
        let early = self
            .repair
            .last_restored
            .is_some_and(|at| monotonic_now().since(at) < RESTORE_INTERVAL);
        if self.state() != VrrpState::Active
            || early
            || (self.note_complete(here) && self.is_macvlan_up(here))
        {
            return;
        }
        let (Ok(links), Ok(addresses)) =
            (tools.kernel.links().await, tools.kernel.addresses().await)
        else {
            return;
        };
        let here = KernelAddresses { addresses: &addresses, links: &links };
        let gone: Vec<AddressPlacement> = self.note_missing(here).copied().collect();
        let stopped = !self.is_macvlan_up(here);
        if gone.is_empty() && !stopped {
            return;
        }
        if stopped {
            self.set_macvlan_up(true, tools).await;
        }
        let set = self.set_addresses(&gone, tools).await;
        if set.is_empty() && !stopped {
            return;
        }
        self.repair.last_restored = Some(monotonic_now());
        self.repair.count += set.len() as u64;
        self.machine.restart_announcements(monotonic_now());
        self.report_restored(&set, tools);
    }

    /// Checks the state that changes without a notification: the gate's programs, and the interface's ARP settings.
    async fn recheck_unnotified(&mut self, tools: &mut GroupContext<'_>) {
        if self.config.fencing_timeout.is_some() {
            self.attach_gate(tools);
        }
        let Some((ground, seat)) =
            self.interface.as_ref().and_then(|it| it.macvlan.map(|at| (it, at)))
        else {
            return;
        };
        let text = match tools.kernel.restore_arp_settings(seat, ground.ifindex).await {
            Ok(false) => return,
            Ok(true) => "was changed by another program; it is as it was".to_owned(),
            Err(error) => format!("was changed by another program, and stays so: {error}"),
        };
        let group = self.config.name.clone();
        let interface = self.config.interface.clone();
        let text = format!(
            "group {group}: how {interface} and the group's own link answer to ARP (arp_ignore, arp_announce, rp_filter) {text}"
        );
        let about = EventFields::from([("group", group), ("interface", interface)]);
        tools.events.emit(EventLevel::Warning, "kernel-restored", text, about);
    }

    /// Sets addresses; returns those that are set.
    pub(super) async fn set_addresses(
        &mut self,
        places: &[AddressPlacement],
        tools: &mut GroupContext<'_>,
    ) -> Vec<IpAddr> {
        let mut set = Vec::new();
        let mut missing = Vec::new();
        for place in places {
            match tools.kernel.add_address(place.ifindex, place.ip).await {
                Ok(()) => set.push(place.ip),
                Err(error) => {
                    let at = self.interface_name(place);
                    missing.push(format!("{} cannot be set on {at}: {error}", place.ip));
                }
            }
        }
        let text = (!missing.is_empty()).then(|| missing.join("; "));
        let Some(text) = text else {
            self.repair.record_complete();
            return set;
        };
        if self.repair.missing.as_ref().is_none_or(|before| before.reason != text) {
            tools.events.error("member-refused", format!("group {}: {text}", self.config.name));
        }
        if missing.len() == self.placements().len() {
            self.repair.record_refusal(monotonic_now(), text.clone());
        }
        self.repair.missing = Some(MissingAddresses { since: monotonic_now(), reason: text });
        set
    }

    fn note_missing(&self, here: KernelAddresses<'_>) -> impl Iterator<Item = &AddressPlacement> {
        self.placements().iter().filter(move |place| {
            let wanted = AssignedAddress { ifindex: place.ifindex, ip: place.ip };
            !(here.addresses.contains(&wanted)
                || self.has_preexisting_addresses && has_address(here, place.ip))
        })
    }

    fn note_complete(&self, here: KernelAddresses<'_>) -> bool {
        self.note_missing(here).next().is_none()
    }

    /// Whether the group's macvlan is up, if it has one.
    fn is_macvlan_up(&self, here: KernelAddresses<'_>) -> bool {
        let seat = self.interface.as_ref().and_then(|ground| ground.macvlan);
        seat.is_none_or(|seat| here.links.get(&seat).is_some_and(|link| link.up))
    }

    fn report_restored(&mut self, set: &[IpAddr], tools: &GroupContext<'_>) {
        if self.repair.last_reported.is_some_and(|at| monotonic_now().since(at) < REPORT_INTERVAL) {
            return;
        }
        self.repair.last_reported = Some(monotonic_now());
        let group = &self.config.name;
        let interface = &self.config.interface;
        let list = set.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(" ");
        let text = if set.is_empty() {
            format!("group {group}: another program had set its link down; it is up again")
        } else {
            format!(
                "group {group}: another program had taken {list} away; it is set again and announced"
            )
        };
        let about = EventFields::from([
            ("group", group.clone()),
            ("interface", interface.clone()),
            ("addresses", list),
            ("count", self.repair.count.to_string()),
        ]);
        tools.events.emit(EventLevel::Warning, "kernel-restored", text, about);
    }
}

fn has_address(here: KernelAddresses<'_>, ip: IpAddr) -> bool {
    here.addresses.iter().any(|one| one.ip == ip)
}
