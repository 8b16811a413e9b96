//! Whether a group's addresses answer elsewhere while they are here: asked at an interval, and heard of at any time.
//! And who advertises the group's number with other addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ha::counts::Counts;
use ha::double::Found;
use ha::frame::{self, Link};

use super::super::alive::now;
use super::super::ear::Ear;
use super::super::scout;
use super::{Group, Tools};
use crate::event::Level;

/// Somebody that is taking over is heard of by its advertisement, an interval and this after its announcement.
const LATE: Duration = Duration::from_millis(100);

/// Addresses of another one's advertisement that are shown.
const SHOWN: usize = 4;

impl Group {
    /// The addresses are here from now on.
    pub(super) fn watch(&mut self, tools: &Tools<'_>) {
        let every = self.config.self_check;
        self.doubles.begin(now(), every, self.config.advertise + LATE);
        self.scouts.clear();
        if every.is_none() {
            return;
        }
        let mut at: BTreeMap<u32, Vec<IpAddr>> = BTreeMap::new();
        for place in self.places() {
            at.entry(place.ifindex).or_default().push(place.ip);
        }
        for (ifindex, addresses) in at {
            match Ear::open(ifindex, &scout::filter(&addresses), tools.frames.clone()) {
                Ok(ear) => self.scouts.push(ear),
                Err(_) => self.count("not-watched"),
            }
        }
    }

    /// They are not here any more.
    pub(super) fn unwatch(&mut self) {
        self.doubles.end();
        self.scouts.clear();
    }

    /// Asks when it is time.
    pub(super) fn ask_elsewhere(&mut self, tools: &Tools<'_>) {
        let mut found = Vec::new();
        if self.doubles.ask(now(), &mut found) {
            for place in self.places().to_vec() {
                let ear = tools.ears.get(&place.ifindex);
                let sent =
                    ear.is_some_and(|ear| ear.send(&frame::probe(place.ip, place.link)).is_ok());
                if !sent {
                    self.count("not-asked");
                }
            }
        }
        self.tell_found(found, tools);
    }

    /// Somebody says that an address is at its link.
    pub fn elsewhere(&mut self, ifindex: u32, (ip, link): (IpAddr, Link), tools: &mut Tools<'_>) {
        let place = self.places().iter().find(|place| (place.ifindex, place.ip) == (ifindex, ip));
        if place.is_none_or(|place| place.link == link) {
            return;
        }
        let mut found = Vec::new();
        self.doubles.hear(now(), ip, link, &mut found);
        self.tell_found(found, tools);
    }

    fn tell_found(&mut self, found: Vec<Found>, tools: &Tools<'_>) {
        for one in found {
            let (level, kind, ip, link) = match one {
                Found::Defend => {
                    self.announce(tools);
                    continue;
                }
                Found::Doubled(ip, link) => (Level::Warning, "member-doubled", ip, Some(link)),
                Found::Sole(ip) => (Level::Info, "member-sole", ip, None),
            };
            let group = &self.config.name;
            let text = match link {
                Some(link) => format!("group {group}: {ip} is at {} too", name(link)),
                None => format!("group {group}: {ip} is here alone again"),
            };
            let mut about = vec![
                ("group", group.clone()),
                ("interface", self.config.interface.clone()),
                ("address", ip.to_string()),
            ];
            about.extend(link.map(|link| ("link", name(link))));
            tools.events.tell(level, kind, text, &about);
        }
    }

    /// Somebody advertises the group's number with other addresses.
    pub(super) fn report_conflict(
        &self,
        source: IpAddr,
        addresses: &[IpAddr],
        foreign: bool,
        tools: &Tools<'_>,
    ) {
        let (group, id) = (&self.config.name, self.config.id);
        let list =
            addresses.iter().take(SHOWN).map(IpAddr::to_string).collect::<Vec<_>>().join(" ");
        let more = addresses.len().saturating_sub(SHOWN);
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
        let about = [
            ("group", group.clone()),
            ("interface", self.config.interface.clone()),
            ("source", source.to_string()),
            ("addresses", list),
        ];
        tools.events.tell(Level::Warning, "member-conflict", text, &about);
    }

    /// What was counted of it.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            asked_elsewhere: self.doubles.asked,
            doubled: self.doubles.found,
            defended: self.doubles.defended,
            restored: self.restored.count,
            ..self.machine.counts().clone()
        }
    }
}

/// A link's address as people write it.
pub(super) fn name(link: Link) -> String {
    link.map(|byte| format!("{byte:02x}")).join(":")
}
