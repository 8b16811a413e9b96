//! Alarms of the packet plane: raised once, cleared once. Pure: counts, notices and the time go in, events come out.
//!
//! Edges lie apart, so that what moves around one does not tell again and again. It limits nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::moment::Moment;

use crate::event::Level;

/// An alarm that rests on notices is cleared when none has come for so long.
const QUIET: Duration = Duration::from_secs(10);
/// Things that may be scarce at a time; further ones are not remembered, and told again.
const REMEMBERED: usize = 1_024;

/// An event to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// How grave.
    pub level: Level,
    /// Its kind.
    pub what: &'static str,
    /// Its sentence.
    pub text: String,
    /// What it is about.
    pub about: Vec<(&'static str, String)>,
}

/// What there is too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scarce {
    /// Ports of return addresses towards a server.
    Ports,
    /// Room for translated connections.
    Records,
    /// Room for connections of `mac` and `tunnel`: living ones are given up for new ones.
    Flows,
}

impl Scarce {
    fn resource(self) -> &'static str {
        match self {
            Scarce::Ports => "return ports",
            Scarce::Records => "translated connections",
            Scarce::Flows => "connections",
        }
    }

    fn sentence(self, of: &str) -> String {
        match self {
            Scarce::Ports => format!(
                "no port is free towards {of}: add addresses to `return` in `[packets]`, raise `flows` where they have too few ports of it, or shorten `fin-timeout`"
            ),
            Scarce::Records => format!(
                "{of} has no room for another translated connection: raise `flows` in `[packets]`"
            ),
            Scarce::Flows => format!(
                "the table of connections is too small for {of}: living ones are given up for new ones; raise `flows` in `[packets]`"
            ),
        }
    }
}

/// Which alarms stand.
#[derive(Debug, Default)]
pub struct Alarms {
    half_open: BTreeSet<String>,
    scarce: BTreeMap<(Scarce, String), Moment>,
}

impl Alarms {
    /// Half-open connections of a service now; `limit`: from how many on the alarm stands.
    pub fn half_open(&mut self, service: &str, now: u32, limit: Option<u32>) -> Option<Told> {
        let stands = self.half_open.contains(service);
        let (is, limit) = match limit {
            None => (false, 0),
            Some(limit) if stands => (u64::from(now) * 4 >= u64::from(limit) * 3, limit),
            Some(limit) => (now >= limit, limit),
        };
        let about = || {
            vec![
                ("service", service.to_owned()),
                ("half-open", now.to_string()),
                ("limit", limit.to_string()),
            ]
        };
        match (stands, is) {
            (false, true) => {
                self.half_open.insert(service.to_owned());
                let text = format!(
                    "service {service} has {now} half-open connections, the alarm's threshold is {limit}: it may be a flood of SYN"
                );
                Some(Told { level: Level::Warning, what: "half-open-alarm", text, about: about() })
            }
            (true, false) => {
                self.half_open.remove(service);
                let text = format!("service {service} has {now} half-open connections again");
                Some(Told { level: Level::Info, what: "half-open-clear", text, about: about() })
            }
            _ => None,
        }
    }

    /// Whether the alarm for half-open connections of a service stands.
    pub fn stands(&self, service: &str) -> bool {
        self.half_open.contains(service)
    }

    /// Forgets services that are gone; their alarms are cleared.
    pub fn keep(&mut self, known: impl Fn(&str) -> bool) -> Vec<Told> {
        let gone: Vec<String> =
            self.half_open.iter().filter(|name| !known(name)).cloned().collect();
        gone.iter().filter_map(|name| self.half_open(name, 0, None)).collect()
    }

    /// Something was missing for a connection of `of` just now.
    pub fn scarce(&mut self, what: Scarce, of: &str, now: Moment) -> Option<Told> {
        let key = (what, of.to_owned());
        if let Some(last) = self.scarce.get_mut(&key) {
            *last = now;
            return None;
        }
        if self.scarce.len() < REMEMBERED {
            self.scarce.insert(key, now);
        }
        let about = vec![("resource", what.resource().to_owned()), ("of", of.to_owned())];
        Some(Told { level: Level::Warning, what: "alarm-on", text: what.sentence(of), about })
    }

    /// What has not been missing for a while.
    pub fn quiet(&mut self, now: Moment) -> Vec<Told> {
        let over: Vec<(Scarce, String)> = self
            .scarce
            .iter()
            .filter(|(_, last)| now.since(**last) >= QUIET)
            .map(|(key, _)| key.clone())
            .collect();
        over.into_iter()
            .map(|key| {
                self.scarce.remove(&key);
                let (what, of) = key;
                let resource = what.resource();
                let text = format!("{resource} have sufficed for {of} for {QUIET:?}");
                let about = vec![("resource", resource.to_owned()), ("of", of)];
                Told { level: Level::Info, what: "alarm-off", text, about }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn the_half_open_alarm_is_raised_once_and_cleared_once() {
        let mut alarms = Alarms::default();
        let told: Vec<&str> = [1, 99, 100, 120, 80, 100, 76, 74, 10, 99, 100]
            .into_iter()
            .filter_map(|now| alarms.half_open("shop", now, Some(100)))
            .map(|told| told.what)
            .collect();
        assert_eq!(told, ["half-open-alarm", "half-open-clear", "half-open-alarm"]);
        assert!(alarms.stands("shop") && !alarms.stands("mail"));
        assert_eq!(alarms.keep(|name| name != "shop")[0].what, "half-open-clear");
        assert!(alarms.keep(|_| false).is_empty());
    }

    #[test]
    fn an_alarm_without_its_threshold_is_cleared() {
        let mut alarms = Alarms::default();
        let told = alarms.half_open("shop", 7, Some(5)).unwrap();
        assert_eq!((told.level, &told.about[1]), (Level::Warning, &("half-open", "7".to_owned())));
        assert_eq!(alarms.half_open("shop", 7, None).unwrap().what, "half-open-clear");
        assert_eq!(alarms.half_open("shop", 1_000, None), None);
    }

    #[test]
    fn what_is_scarce_is_told_once_until_it_was_quiet() {
        let mut alarms = Alarms::default();
        let on = |alarms: &mut Alarms, now| alarms.scarce(Scarce::Ports, "10.0.0.11", at(now));
        assert_eq!(on(&mut alarms, 1).unwrap().what, "alarm-on");
        assert_eq!(on(&mut alarms, 8), None);
        assert!(alarms.quiet(at(17)).is_empty());
        let off = alarms.quiet(at(18));
        assert_eq!((off.len(), off[0].what), (1, "alarm-off"));
        assert!(alarms.quiet(at(60)).is_empty());
        assert!(on(&mut alarms, 61).is_some());
        assert!(alarms.scarce(Scarce::Flows, "10.0.0.11", at(61)).is_some(), "another resource");
    }
}
