//! Duplicate address detection: whether a group's addresses answer elsewhere while they are here, probed at an interval
//! and listened for at any time. And who advertises the group's number with other addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ha::counts::VrrpCounters;
use ha::duplicate_address::DuplicateEvent;
use ha::frame::{self, MacAddress};

use model::config::EventLevel;

use super::super::duplicate_filter;
use super::super::rx_socket::RxSocket;
use super::{GroupContext, VrrpGroup};
use crate::util::event::EventFields;
use crate::util::monotonic_clock::monotonic_now;

/// A member that takes over is recognised by its advertisement, which arrives up to an interval and this time after its
/// announcement.
const CLAIM_GRACE: Duration = Duration::from_millis(100);

/// Bounds the addresses of a foreign advertisement that are shown.
const MAX_SHOWN_ADDRESSES: usize = 4;

impl VrrpGroup {
    /// The addresses are here from now on.
    pub(super) fn watch_duplicates(&mut self, tools: &GroupContext<'_>) {
        let every = self.config.self_check;
        self.duplicates.start(monotonic_now(), every, self.config.advertise + CLAIM_GRACE);
        self.arp_sockets.clear();
        if every.is_none() {
            return;
        }
        let mut at: BTreeMap<u32, Vec<IpAddr>> = BTreeMap::new();
        for place in self.placements() {
            at.entry(place.ifindex).or_default().push(place.ip);
        }
        for (ifindex, addresses) in at {
            match RxSocket::open(
                ifindex,
                &duplicate_filter::duplicate_filter(&addresses),
                tools.frames.clone(),
            ) {
                Ok(ear) => self.arp_sockets.push(ear),
                Err(_) => self.count("not-watched"),
            }
        }
    }

    /// The addresses are no longer set here.
    pub(super) fn unwatch_duplicates(&mut self) {
        self.duplicates.stop();
        self.arp_sockets.clear();
    }

    /// Sends ARP probes that are due.
    pub(super) fn probe_duplicates(&mut self, tools: &GroupContext<'_>) {
        let mut found = Vec::new();
        if self.duplicates.take_probe(monotonic_now(), &mut found) {
            for place in self.placements().to_vec() {
                let ear = tools.rx_sockets.get(&place.ifindex);
                let sent = ear.is_some_and(|ear| {
                    ear.send(&frame::address_probe(place.ip, place.link)).is_ok()
                });
                if !sent {
                    self.count("not-asked");
                }
            }
        }
        self.report_duplicate(found, tools);
    }

    /// Handles a frame in which another host claims an address.
    pub fn handle_claim(
        &mut self,
        ifindex: u32,
        ip: IpAddr,
        link: MacAddress,
        tools: &mut GroupContext<'_>,
    ) {
        let place =
            self.placements().iter().find(|place| (place.ifindex, place.ip) == (ifindex, ip));
        if place.is_none_or(|place| place.link == link) {
            return;
        }
        let mut found = Vec::new();
        self.duplicates.receive_claim(monotonic_now(), ip, link, &mut found);
        self.report_duplicate(found, tools);
    }

    fn report_duplicate(&mut self, found: Vec<DuplicateEvent>, tools: &GroupContext<'_>) {
        for one in found {
            let (level, kind, ip, link) = match one {
                DuplicateEvent::Defend => {
                    self.announce_addresses(tools);
                    continue;
                }
                DuplicateEvent::Duplicate(ip, link) => {
                    (EventLevel::Warning, "duplicate-address", ip, Some(link))
                }
                DuplicateEvent::Cleared(ip) => {
                    (EventLevel::Info, "duplicate-address-gone", ip, None)
                }
            };
            let group = &self.config.name;
            let text = match link {
                Some(link) => format!("group {group}: {ip} is at {} too", format_mac(link)),
                None => format!("group {group}: {ip} is here alone again"),
            };
            let mut about = EventFields::from([
                ("group", group.clone()),
                ("interface", self.config.interface.clone()),
                ("address", ip.to_string()),
            ]);
            about.extend(link.map(|link| ("link", format_mac(link))));
            tools.events.emit(level, kind, text, about);
        }
    }

    /// Handles an advertisement of the group's number with other addresses.
    pub(super) fn report_conflict(
        &self,
        source: IpAddr,
        addresses: &[IpAddr],
        foreign: bool,
        tools: &GroupContext<'_>,
    ) {
        let group = &self.config.name;
        let id = self.config.id;
        let list = addresses
            .iter()
            .take(MAX_SHOWN_ADDRESSES)
            .map(IpAddr::to_string)
            .collect::<Vec<_>>()
            .join(" ");
        let more = addresses.len().saturating_sub(MAX_SHOWN_ADDRESSES);
        let list = if more > 0 { format!("{list} and {more} more") } else { list };
        let text = if foreign {
            format!(
                "group {group}: {source} advertises id {id} with other addresses ({list}): it is another group, and is \
                 not followed; give one of them another id"
            )
        } else {
            format!(
                "group {group}: {source} advertises id {id} with addresses that are not the same ({list}): those that \
                 only one member has are at no machine while the other one is active"
            )
        };
        let about = EventFields::from([
            ("group", group.clone()),
            ("interface", self.config.interface.clone()),
            ("source", source.to_string()),
            ("addresses", list),
        ]);
        tools.events.emit(EventLevel::Warning, "member-conflict", text, about);
    }

    pub(super) fn duplicate_counts(&self) -> VrrpCounters {
        VrrpCounters {
            duplicate_probes: self.duplicates.probes_sent,
            duplicates_found: self.duplicates.duplicates_found,
            defended: self.duplicates.defenses,
            restored: self.repair.count,
            ..self.machine.counts().clone()
        }
    }
}

/// A link's address as people write it.
pub(super) fn format_mac(link: MacAddress) -> String {
    link.map(|byte| format!("{byte:02x}")).join(":")
}
