//! Alarms of the packet plane: raised once, cleared once. Pure: counts, notices and the time go in, events come out.
//!
//! Raise and clear thresholds lie apart (hysteresis), so that a value near one of them does not repeat the event. It
//! limits nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use model::config::EventLevel;
use model::monotonic_time::MonotonicTime;

use super::half_open_clients::{FloodSources, HalfOpenClients};
use crate::util::event::EventFields;

/// An alarm raised by notices is cleared when none has arrived for this time.
const CLEAR_AFTER: Duration = Duration::from_secs(10);
/// The limit of stored alarms. Further alarms are not stored, so they may be logged repeatedly.
const MAX_REMEMBERED: usize = 1_024;

/// An event to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneEvent {
    pub level: EventLevel,
    pub kind: &'static str,
    pub text: String,
    pub fields: EventFields,
}

/// A resource that is exhausted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScarceResource {
    /// Ports of return addresses towards a server.
    Ports,
    /// Room for translated connections.
    Records,
    /// Room for connections of `mac` and `tunnel`: living ones are given up for new ones.
    Flows,
}

impl ScarceResource {
    fn resource(self) -> &'static str {
        match self {
            ScarceResource::Ports => "return ports",
            ScarceResource::Records => "translated connections",
            ScarceResource::Flows => "connections",
        }
    }

    fn describe(self, of: &str) -> String {
        match self {
            ScarceResource::Ports => format!(
                "no port is free towards {of}: add addresses to `nat-source` in `[packets]`, raise `flows` where they have too few ports of it, or shorten `fin-timeout`"
            ),
            ScarceResource::Records => format!(
                "{of} has no room for another translated connection: raise `flows` in `[packets]`"
            ),
            ScarceResource::Flows => format!(
                "the table of connections is too small for {of}: living ones are given up for new ones; raise `flows` in `[packets]`"
            ),
        }
    }
}

/// A resource that was exhausted, with its owner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ExhaustedResource {
    resource: ScarceResource,
    /// The server or service for which nothing was left.
    of: String,
}

#[derive(Debug, Default)]
pub struct PlaneAlarms {
    half_open: BTreeSet<String>,
    /// Who floods, for the alarms of half-open connections.
    pub half_open_clients: HalfOpenClients,
    exhausted: BTreeMap<ExhaustedResource, MonotonicTime>,
}

impl PlaneAlarms {
    /// Checks a service's half-open connections; `limit`: the number that raises the alarm.
    pub fn check_half_open(
        &mut self,
        service: &str,
        now: u32,
        limit: Option<u32>,
        sources: &FloodSources,
    ) -> Option<PlaneEvent> {
        let stands = self.half_open.contains(service);
        let (is, limit) = match limit {
            None => (false, 0),
            Some(limit) if stands => (u64::from(now) * 4 >= u64::from(limit) * 3, limit),
            Some(limit) => (now >= limit, limit),
        };
        let about = || {
            EventFields::from([
                ("service", service.to_owned()),
                ("half-open", now.to_string()),
                ("limit", limit.to_string()),
                ("clients", FloodSources::list(&sources.addresses)),
                ("networks", FloodSources::list(&sources.networks)),
            ])
        };
        let from = sources.describe().map(|text| format!("; {text}")).unwrap_or_default();
        match (stands, is) {
            (false, true) => {
                self.half_open.insert(service.to_owned());
                let text = format!(
                    "service {service} has {now} half-open connections, the alarm's threshold is {limit}: it may be a flood of SYN{from}"
                );
                Some(PlaneEvent {
                    level: EventLevel::Warning,
                    kind: "half-open-alarm",
                    text,
                    fields: about(),
                })
            }
            (true, false) => {
                self.half_open.remove(service);
                let text = format!("service {service} has {now} half-open connections again{from}");
                Some(PlaneEvent {
                    level: EventLevel::Info,
                    kind: "half-open-clear",
                    text,
                    fields: about(),
                })
            }
            _ => None,
        }
    }

    /// Whether the alarm for half-open connections of a service is raised.
    pub fn is_half_open_raised(&self, service: &str) -> bool {
        self.half_open.contains(service)
    }

    /// Forgets removed services; their alarms are cleared.
    pub fn retain(&mut self, known: impl Fn(&str) -> bool) -> Vec<PlaneEvent> {
        let gone: Vec<String> =
            self.half_open.iter().filter(|name| !known(name)).cloned().collect();
        gone.iter()
            .filter_map(|name| self.check_half_open(name, 0, None, &FloodSources::default()))
            .collect()
    }

    /// Something was missing for a connection of `of` just now.
    pub fn note_exhausted(
        &mut self,
        what: ScarceResource,
        of: &str,
        now: MonotonicTime,
    ) -> Option<PlaneEvent> {
        let key = ExhaustedResource { resource: what, of: of.to_owned() };
        if let Some(last) = self.exhausted.get_mut(&key) {
            *last = now;
            return None;
        }
        if self.exhausted.len() < MAX_REMEMBERED {
            self.exhausted.insert(key, now);
        }
        let about =
            EventFields::from([("resource", what.resource().to_owned()), ("of", of.to_owned())]);
        Some(PlaneEvent {
            level: EventLevel::Warning,
            kind: "alarm-on",
            text: what.describe(of),
            fields: about,
        })
    }

    /// Alarms to clear: alarms that had no notice for a while.
    pub fn clear_exhausted(&mut self, now: MonotonicTime) -> Vec<PlaneEvent> {
        let over: Vec<ExhaustedResource> = self
            .exhausted
            .iter()
            .filter(|(_, last)| now.since(**last) >= CLEAR_AFTER)
            .map(|(key, _)| key.clone())
            .collect();
        over.into_iter()
            .map(|key| {
                self.exhausted.remove(&key);
                let ExhaustedResource { resource, of } = key;
                let resource = resource.resource();
                let text = format!("{resource} have sufficed for {of} for {CLEAR_AFTER:?}");
                let about = EventFields::from([("resource", resource.to_owned()), ("of", of)]);
                PlaneEvent { level: EventLevel::Info, kind: "alarm-off", text, fields: about }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planes::packets::half_open_clients::FloodSource;

    fn at(seconds: u64) -> MonotonicTime {
        MonotonicTime::default() + Duration::from_secs(seconds)
    }

    #[test]
    fn the_half_open_alarm_is_raised_once_and_cleared_once() {
        let mut alarms = PlaneAlarms::default();
        let told: Vec<&str> = [1, 99, 100, 120, 80, 100, 76, 74, 10, 99, 100]
            .into_iter()
            .filter_map(|now| {
                alarms.check_half_open("shop", now, Some(100), &FloodSources::default())
            })
            .map(|told| told.kind)
            .collect();
        assert_eq!(told, ["half-open-alarm", "half-open-clear", "half-open-alarm"]);
        assert!(alarms.is_half_open_raised("shop") && !alarms.is_half_open_raised("mail"));
        assert_eq!(alarms.retain(|name| name != "shop")[0].kind, "half-open-clear");
        assert!(alarms.retain(|_| false).is_empty());
    }

    #[test]
    fn an_alarm_without_its_threshold_is_cleared() {
        let mut alarms = PlaneAlarms::default();
        let none = FloodSources::default();
        let told = alarms.check_half_open("shop", 7, Some(5), &none).unwrap();
        assert_eq!((told.level, told.fields["half-open"].as_str()), (EventLevel::Warning, "7"));
        let over = alarms.check_half_open("shop", 7, None, &none).unwrap();
        assert_eq!(over.kind, "half-open-clear");
        assert_eq!(alarms.check_half_open("shop", 1_000, None, &none), None);
    }

    // Rows: I30
    #[test]
    fn the_half_open_alarm_names_who_floods() {
        let sources = FloodSources {
            sampled: 9,
            addresses: vec![FloodSource { source: "203.0.113.7".into(), count: 8 }],
            networks: vec![FloodSource { source: "203.0.113.0/24".into(), count: 9 }],
        };
        let mut alarms = PlaneAlarms::default();
        let told = alarms.check_half_open("shop", 7, Some(5), &sources).unwrap();
        assert_eq!(told.fields["clients"], "203.0.113.7=8");
        assert_eq!(told.fields["networks"], "203.0.113.0/24=9");
        let named = "9 SYN were sampled: 8 of them from 203.0.113.7, 9 of them from 203.0.113.0/24";
        assert!(told.text.ends_with(named), "{}", told.text);
        let unknown = FloodSources::default();
        let told = PlaneAlarms::default().check_half_open("shop", 7, Some(5), &unknown).unwrap();
        assert!(told.text.ends_with("it may be a flood of SYN"), "{}", told.text);
    }

    #[test]
    fn what_is_scarce_is_reported_once_until_it_was_quiet() {
        let mut alarms = PlaneAlarms::default();
        let on = |alarms: &mut PlaneAlarms, now| {
            alarms.note_exhausted(ScarceResource::Ports, "10.0.0.11", at(now))
        };
        assert_eq!(on(&mut alarms, 1).unwrap().kind, "alarm-on");
        assert_eq!(on(&mut alarms, 8), None);
        assert!(alarms.clear_exhausted(at(17)).is_empty());
        let off = alarms.clear_exhausted(at(18));
        assert_eq!((off.len(), off[0].kind), (1, "alarm-off"));
        assert!(alarms.clear_exhausted(at(60)).is_empty());
        assert!(on(&mut alarms, 61).is_some());
        assert!(
            alarms.note_exhausted(ScarceResource::Flows, "10.0.0.11", at(61)).is_some(),
            "another resource"
        );
    }
}
