//! The operations on servers and their times: by the clock of a demonstration, or by keys. Pure.
//!
//! It knows servers by their number alone, and that one of them must stay alive.

use std::time::Duration;

/// Something done to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DemoAction {
    /// Its connections are reset and its port refuses, as when its process is killed.
    Kill(usize),
    Revive(usize),
    /// The balancer drains the server.
    Drain(usize),
}

/// A deed and its time since the start of its round.
#[derive(Clone, Copy, Debug)]
struct TimedAction {
    at: Duration,
    action: DemoAction,
}

impl TimedAction {
    const fn new(millis: u64, action: DemoAction) -> TimedAction {
        TimedAction { at: Duration::from_millis(millis), action }
    }
}

/// A sequence of deeds by the clock.
#[derive(Clone, Debug)]
pub struct DemoScript {
    actions: Vec<TimedAction>,
    next: usize,
    /// When it ends; `None`: it repeats.
    end: Option<Duration>,
    /// The length of one round.
    round_length: Duration,
    rounds: u32,
}

impl DemoScript {
    /// The demonstration of `--once`: server 1 is killed and revived, server 3 drained.
    pub fn once() -> DemoScript {
        let deeds = vec![
            // Two seconds before and after each event: a few probe intervals, so that its effect is seen on its own.
            TimedAction::new(2_000, DemoAction::Kill(1)),
            TimedAction::new(4_000, DemoAction::Revive(1)),
            TimedAction::new(5_500, DemoAction::Drain(3)),
        ];
        // The drain has the last two and a half seconds.
        let end = Duration::from_secs(8);
        DemoScript { actions: deeds, next: 0, end: Some(end), round_length: end, rounds: 0 }
    }

    /// Without end: each of `servers` in turn is killed for a few seconds.
    pub fn endless(servers: usize) -> DemoScript {
        // Ten seconds for each server: killed after three, revived after seven, and up again before the next one's
        // turn.
        let at = |server: usize, seconds: u64| Duration::from_secs(server as u64 * 10 + seconds);
        let deeds = (0..servers)
            .flat_map(|n| {
                [
                    TimedAction { at: at(n, 3), action: DemoAction::Kill(n) },
                    TimedAction { at: at(n, 7), action: DemoAction::Revive(n) },
                ]
            })
            .collect();
        DemoScript { actions: deeds, next: 0, end: None, round_length: at(servers, 0), rounds: 0 }
    }

    /// The next deed that is due.
    pub fn next_action(&mut self, at: Duration) -> Option<DemoAction> {
        let TimedAction { at: due, action } = *self.actions.get(self.next)?;
        if due + self.round_length * self.rounds > at {
            return None;
        }
        self.next += 1;
        if self.next == self.actions.len() && self.end.is_none() {
            self.next = 0;
            self.rounds += 1;
        }
        Some(action)
    }

    /// Whether it is over.
    pub fn is_over(&self, at: Duration) -> bool {
        self.end.is_some_and(|end| at >= end)
    }
}

/// The server that the key `k` kills: the next one after the last one killed, unless it is the last one alive.
pub fn next_to_kill(killed: &[bool], last: Option<usize>) -> Option<DemoAction> {
    if killed.iter().filter(|dead| !**dead).count() < 2 {
        return None;
    }
    let first = last.map_or(0, |last| last + 1);
    let order = (0..killed.len()).map(|step| (first + step) % killed.len());
    order.into_iter().find(|server| !killed[*server]).map(DemoAction::Kill)
}

/// The server that the key `r` revives: the one that has been dead longest. `order`: dead servers in the order of their
/// deaths.
pub fn next_to_revive(order: &[usize]) -> Option<DemoAction> {
    order.first().copied().map(DemoAction::Revive)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played_actions(mut story: DemoScript, until: u64) -> Vec<(u64, DemoAction)> {
        let mut deeds = Vec::new();
        for second in 0..until {
            while let Some(deed) = story.next_action(Duration::from_secs(second)) {
                deeds.push((second, deed));
            }
        }
        deeds
    }

    #[test]
    fn once_kills_revives_drains_and_ends() {
        let expected =
            [(2, DemoAction::Kill(1)), (4, DemoAction::Revive(1)), (6, DemoAction::Drain(3))];
        assert_eq!(played_actions(DemoScript::once(), 100), expected);
        assert!(!DemoScript::once().is_over(Duration::from_millis(7_999)));
        assert!(DemoScript::once().is_over(Duration::from_secs(8)));
    }

    #[test]
    fn endless_goes_round_with_one_dead_at_most() {
        let deeds = played_actions(DemoScript::endless(4), 100);
        assert_eq!(deeds.len(), 20);
        assert_eq!(deeds[8], (43, DemoAction::Kill(0)));
        for pair in deeds.chunks(2) {
            let (DemoAction::Kill(killed), DemoAction::Revive(revived)) = (pair[0].1, pair[1].1)
            else {
                panic!("{pair:?}")
            };
            assert_eq!(killed, revived);
        }
        assert!(!DemoScript::endless(4).is_over(Duration::MAX));
    }

    #[test]
    fn keys_take_turns_and_spare_the_last() {
        assert_eq!(next_to_kill(&[false; 4], None), Some(DemoAction::Kill(0)));
        assert_eq!(next_to_kill(&[true, false, false, false], Some(0)), Some(DemoAction::Kill(1)));
        assert_eq!(next_to_kill(&[false, false, true, true], Some(3)), Some(DemoAction::Kill(0)));
        assert_eq!(next_to_kill(&[true, true, false, true], Some(1)), None);
        assert_eq!(next_to_revive(&[2, 0]), Some(DemoAction::Revive(2)));
        assert_eq!(next_to_revive(&[]), None);
    }
}
