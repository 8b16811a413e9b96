//! Which circuit breakers refuse and which queues are shed: told once when that begins and once when it has ended. It
//! opens and closes none.

use std::collections::BTreeMap;

use model::breaker::{Bound, State};
use model::snapshot::PoolView;

use crate::control::Picture;
use crate::event::{Events, Level};

/// What refuses, by pool and by what it bounds; `None`: its queue. With when that began, on the workers' clock.
#[derive(Debug, Default)]
pub(super) struct Breaking(BTreeMap<(String, Option<&'static str>), Seen>);

/// What was told of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// When the last run ended that was told of; 0: there was none.
    ended: u64,
    open: bool,
}

impl Breaking {
    /// Compares with what was told, and tells what is new. `now`: on the workers' clock.
    pub(super) fn look(&mut self, events: &Events, picture: &Picture, now: u64) {
        let mut next = BTreeMap::new();
        for view in picture.snapshot.pools.values() {
            let limited =
                Bound::ALL.iter().filter(|bound| view.config.breaker.of(**bound).is_some());
            let runs =
                limited.map(|bound| (Some(*bound), view.live.breakers.of(*bound).state(now)));
            let runs = runs.chain([(None, view.live.shedding.state(now))]);
            for (bound, state) in runs {
                let key = (view.config.name.clone(), bound.map(Bound::name));
                let before = self.0.get(&key).copied().unwrap_or(Seen { ended: 0, open: false });
                let (began, ended, seen) = compared(before, state);
                if began {
                    tell(events, view, bound, true);
                }
                if ended {
                    tell(events, view, bound, false);
                }
                next.insert(key, seen);
            }
        }
        self.0 = next;
    }
}

/// Whether it began and whether it ended since; a run that was shorter than a look did both.
fn compared(before: Seen, state: State) -> (bool, bool, Seen) {
    match state {
        State::Open(_) => (!before.open, false, Seen { open: true, ..before }),
        State::Closed(Some(at)) if at != before.ended => {
            (!before.open, true, Seen { ended: at, open: false })
        }
        State::Closed(_) => (false, before.open, Seen { open: false, ..before }),
    }
}

fn tell(events: &Events, view: &PoolView, bound: Option<Bound>, begins: bool) {
    let pool = &view.config.name;
    let Some(bound) = bound else {
        let about = [("pool", pool.clone())];
        return if begins {
            let text = format!("pool {pool}: its queue is held to what its servers take in time");
            events.tell(Level::Warning, "shedding-begun", text, &about);
        } else {
            let text = format!("pool {pool}: its queue is not held any more");
            events.tell(Level::Info, "shedding-ended", text, &about);
        };
    };
    let (name, limit) = (bound.name(), view.config.breaker.of(bound).unwrap_or_default());
    let about = [("pool", pool.clone()), ("bound", name.to_owned()), ("limit", limit.to_string())];
    if begins {
        let text = format!("pool {pool}: its breaker of {name} refuses beyond {limit}");
        events.tell(Level::Warning, "breaker-open", text, &about);
    } else {
        let text = format!("pool {pool}: its breaker of {name} does not refuse any more");
        events.tell(Level::Info, "breaker-closed", text, &about);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    const TEXT: &str = "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n\
                        [pool.web]\nbreaker = { requests = 2 }\nservers = [\"127.0.0.1:2\"]\n";

    #[test]
    fn each_run_is_told_twice_however_short_it_is() {
        let (picture, events) = (fixture::picture(TEXT, 1), Events::quiet());
        let mut breaking = Breaking::default();
        let mut look = |now: u64| {
            let before = events.recent().len();
            breaking.look(&events, &picture, now);
            let new = events.recent().split_off(before);
            new.iter().map(|event| event.what).collect::<Vec<_>>()
        };
        let live = &picture.snapshot.pools.values().next().unwrap().live;
        assert!(look(1_000).is_empty());
        live.refused(Bound::Requests, 0, 2_000);
        assert_eq!(look(2_100), ["breaker-open"]);
        live.refused(Bound::Requests, 0, 2_900);
        assert!(look(3_500).is_empty());
        assert_eq!(look(4_000), ["breaker-closed"]);
        assert!(look(9_000).is_empty());
        // Begun and over between two looks.
        live.refused(Bound::Requests, 0, 9_100);
        assert_eq!(look(12_000), ["breaker-open", "breaker-closed"]);
        live.shed(0, 20_000);
        assert_eq!(look(20_001), ["shedding-begun"]);
        assert_eq!(look(30_000), ["shedding-ended"]);
        assert!(look(40_000).is_empty());
    }
}
