//! Warns before something runs out: connections of a service, descriptors, source ports, the time of a certificate.
//! Once when it comes near, once when it is far again. Tells of breakers and queues in the same way.
//!
//! The edges lie apart, so that what moves around one of them does not warn again and again. It limits nothing.

mod breaking;
mod certificates;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use model::breaker::clock;

use crate::event::{Events, Level};
use crate::report::vitals::{Facts, Vitals};
use breaking::Breaking;
use certificates::Ending;

/// Between two looks.
const STEP: Duration = Duration::from_secs(2);
/// Percent of a limit from which it is near.
const NEAR: u64 = 80;
/// Percent below which it is far again.
const FAR: u64 = 70;
/// Things that may be near at a time; further ones are not remembered, and told again.
const REMEMBERED: usize = 10_000;

/// Looks until the daemon is gone.
pub async fn run(vitals: Arc<Vitals>) {
    let (mut alarms, mut ending) = (Alarms::default(), Ending::default());
    let mut breaking = Breaking::default();
    loop {
        tokio::time::sleep(STEP).await;
        let picture = vitals.control.picture();
        let facts = vitals.facts(&picture);
        let mut uses = uses(&facts);
        for view in picture.snapshot.services.values() {
            if let Some(limit) = view.config.limit.connections {
                let (name, open) = (view.config.name.clone(), u64::from(view.live.open.get()));
                uses.push(Use {
                    what: "connections",
                    of: name,
                    used: open,
                    limit: u64::from(limit),
                });
            }
        }
        if let Some(limit) = picture.config.global.connections {
            let (open, of) = (u64::from(facts.open.connections), "the process".to_owned());
            uses.push(Use { what: "connections", of, used: open, limit: u64::from(limit) });
        }
        alarms.look(vitals.control.events(), uses);
        ending.look(vitals.control.events(), &picture, SystemTime::now());
        breaking.look(vitals.control.events(), &picture, clock(facts.open.now));
    }
}

/// How much of something is used.
struct Use {
    what: &'static str,
    of: String,
    used: u64,
    limit: u64,
}

/// Which alarms stand.
#[derive(Default)]
struct Alarms {
    on: HashMap<(&'static str, String), bool>,
}

impl Alarms {
    /// Compares with what stood, and tells what is new. What is not among `uses` any more is forgotten.
    fn look(&mut self, events: &Events, uses: Vec<Use>) {
        let before = std::mem::take(&mut self.on);
        for Use { what, of, used, limit } in uses.into_iter().filter(|it| it.limit > 0) {
            let percent =
                u64::try_from(u128::from(used) * 100 / u128::from(limit)).unwrap_or(u64::MAX);
            let was = before.get(&(what, of.clone())).copied().unwrap_or(false);
            let is = if was { percent >= FAR } else { percent >= NEAR };
            let about = [
                ("resource", what.to_owned()),
                ("of", of.clone()),
                ("used", used.to_string()),
                ("limit", limit.to_string()),
            ];
            let share = format!("{used} of {limit} {what} of {of} are in use");
            match (was, is) {
                (false, true) => events.tell(Level::Warning, "alarm-on", share, &about),
                (true, false) => events.tell(Level::Info, "alarm-off", share, &about),
                _ => {}
            }
            if is && self.on.len() < REMEMBERED {
                self.on.insert((what, of), true);
            }
        }
    }
}

fn uses(facts: &Facts) -> Vec<Use> {
    let files = facts.descriptors;
    let own = "the process".to_owned();
    let mut uses =
        vec![Use { what: "file descriptors", of: own, used: files.in_use, limit: files.limit }];
    uses.extend(facts.ports.iter().map(|row| {
        let source = row.source.map_or_else(|| "any".to_owned(), |source| source.to_string());
        Use {
            what: "source ports",
            of: format!("{source} towards {}", row.destination),
            used: u64::from(row.in_use),
            limit: u64::from(row.in_use) + u64::from(row.left),
        }
    }));
    uses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_when_it_comes_near_and_once_when_it_is_far() {
        let events = Events::quiet();
        let mut alarms = Alarms::default();
        for used in [10, 79, 80, 75, 85, 71, 69, 75, 80] {
            let of = "shop".to_owned();
            alarms.look(&events, vec![Use { what: "connections", of, used, limit: 100 }]);
        }
        let whats: Vec<_> = events.recent().iter().map(|event| event.what).collect();
        assert_eq!(whats, ["alarm-on", "alarm-off", "alarm-on"]);
        assert_eq!(events.recent()[0].about["used"], "80");
        alarms.look(&events, vec![Use { what: "x", of: String::new(), used: u64::MAX, limit: 0 }]);
        assert_eq!(events.recent().len(), 3, "no limit is never near");
    }
}
