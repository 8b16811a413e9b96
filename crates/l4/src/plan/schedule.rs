//! The order in which a pool's servers are chosen, as entries of a table. Pure.

/// Entries of one schedule at most; weights are scaled down until they fit.
pub const TURNS: u64 = 4_096;

/// Entries of the table of `balance = "source"`: as in the request plane.
pub const SOURCE_TABLE: u32 = 16_381;

/// Entries per server of a schedule that is levelled each second, and the limit of entries.
const LEVEL_STEPS: usize = 64;
/// Bounds the length of a schedule, which a change of weights rewrites whole.
const LEVELS: usize = 1_024;

/// A member of a schedule with its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WeightedMember {
    /// The value of the entries.
    pub entry: u32,
    pub weight: u32,
}

/// Smooth weighted turns: each member as often as its weight, spread as evenly as possible. Members of weight 0 do not
/// appear.
pub fn smooth_turns(members: &[WeightedMember]) -> Vec<u32> {
    let divisor = members.iter().fold(0, |all, one| gcd(all, one.weight)).max(1);
    let total: u64 = members.iter().map(|one| u64::from(one.weight / divisor)).sum();
    let share = |weight: u32| {
        let weight = u64::from(weight / divisor);
        if total <= TURNS || weight == 0 { weight } else { (weight * TURNS / total).max(1) }
    };
    spread_evenly(members.iter().map(|one| (one.entry, share(one.weight))))
}

/// Each member as often as its count, spread as evenly as possible.
fn spread_evenly(members: impl Iterator<Item = (u32, u64)>) -> Vec<u32> {
    let mut places: Vec<(f64, usize, u32)> = Vec::new();
    for (at, (entry, count)) in members.enumerate() {
        // The k-th of n turns is in the middle of the k-th n-th of the round.
        places.extend((0..count).map(|turn| ((turn as f64 + 0.5) / count as f64, at, entry)));
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    places.into_iter().map(|(_, _, entry)| entry).collect()
}

/// Entries of a levelled schedule: enough for small parts of a server, and a constant number, so that the schedule is
/// rewritten in place.
pub fn level_length(members: usize) -> usize {
    (members * LEVEL_STEPS).min(LEVELS).max(members)
}

/// A member of a levelled schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeveledMember {
    /// The value of the entries.
    pub entry: u32,
    /// Its weight, not 0.
    pub weight: u32,
    /// Expected connections when the next ones arrive.
    pub flows: u32,
}

/// The connections left of `now` a second later, if as many end as in the last second: the server had `before`, and
/// `begun` were new.
pub fn remaining_connections(before: u32, begun: u32, now: u32) -> u32 {
    let ended = before.saturating_add(begun).saturating_sub(now);
    now.saturating_sub(ended)
}

/// Turns by which the next `arrivals` connections bring the members closest to equal connections per unit of weight:
/// the lowest members are filled up first, like water in a vessel. Every member has at least one turn.
pub fn level_turns(members: &[LeveledMember], arrivals: u32) -> Vec<u32> {
    if members.is_empty() {
        return Vec::new();
    }
    let wanted = f64::from(arrivals.max(u32::try_from(members.len()).unwrap_or(u32::MAX)));
    let surface = water_level(members, wanted);
    let part = |one: &LeveledMember| {
        (surface * f64::from(one.weight) - f64::from(one.flows)).max(0.0) / wanted
    };
    let spare = level_length(members.len()) - members.len();
    let exact: Vec<f64> = members.iter().map(|one| part(one) * spare as f64).collect();
    let mut counts: Vec<u64> = exact.iter().map(|turns| 1 + turns.floor() as u64).collect();
    let given = counts.iter().sum::<u64>() as usize;
    // Turns left by rounding go to the members that lost most by it.
    let mut order: Vec<usize> = (0..members.len()).collect();
    order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()).then(a.cmp(b)));
    let left = level_length(members.len()).saturating_sub(given);
    order.iter().cycle().take(left).for_each(|at| counts[*at] += 1);
    spread_evenly(members.iter().zip(&counts).map(|(one, count)| (one.entry, *count)))
}

/// The number of connections for each unit of weight at which `wanted` more are poured in.
fn water_level(members: &[LeveledMember], wanted: f64) -> f64 {
    let height = |one: &LeveledMember| f64::from(one.flows) / f64::from(one.weight.max(1));
    let mut order: Vec<&LeveledMember> = members.iter().collect();
    order.sort_by(|a, b| height(a).total_cmp(&height(b)));
    let mut flows = 0.0;
    let mut weight = 0.0;
    for (at, one) in order.iter().enumerate() {
        flows += f64::from(one.flows);
        weight += f64::from(one.weight.max(1));
        let surface = (wanted + flows) / weight;
        if order.get(at + 1).is_none_or(|next| surface <= height(next)) {
            return surface;
        }
    }
    0.0
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(entries: &[u32], of: u32) -> usize {
        entries.iter().filter(|entry| **entry == of).count()
    }

    fn turns(members: &[(u32, u32)]) -> Vec<u32> {
        let member =
            |(entry, weight): &(u32, u32)| WeightedMember { entry: *entry, weight: *weight };
        smooth_turns(&members.iter().map(member).collect::<Vec<_>>())
    }

    #[test]
    fn equal_weights_take_turns() {
        assert_eq!(turns(&[(7, 3), (8, 3), (9, 3)]), [7, 8, 9]);
        assert_eq!(turns(&[]), Vec::<u32>::new());
        assert_eq!(turns(&[(1, 0)]), Vec::<u32>::new());
    }

    #[test]
    fn heavier_servers_come_more_often_and_spread() {
        let entries = turns(&[(1, 4), (2, 2), (3, 1)]);
        assert_eq!(entries.len(), 7);
        assert_eq!((counts(&entries, 1), counts(&entries, 2), counts(&entries, 3)), (4, 2, 1));
        assert!(entries.windows(3).all(|three| three.iter().any(|entry| *entry != 1)));
    }

    fn member(entry: u32, weight: u32, flows: u32) -> LeveledMember {
        LeveledMember { entry, weight, flows }
    }

    #[test]
    fn the_emptiest_get_what_comes_until_all_are_level() {
        // Members, arrivals, and turns of each.
        let rows: [(&str, &[LeveledMember], u32, &[usize]); 7] = [
            ("nobody has any", &[member(1, 1, 0), member(2, 1, 0)], 10, &[64, 64]),
            ("one is far behind", &[member(1, 1, 100), member(2, 1, 0)], 50, &[1, 127]),
            ("level within the second", &[member(1, 1, 60), member(2, 1, 40)], 60, &[43, 85]),
            ("by weight", &[member(1, 3, 0), member(2, 1, 0)], 40, &[96, 32]),
            ("by weight, level already", &[member(1, 3, 30), member(2, 1, 10)], 40, &[96, 32]),
            ("nothing arrives", &[member(1, 1, 5), member(2, 1, 5)], 0, &[64, 64]),
            ("one alone", &[member(7, 2, 1_000)], 3, &[64]),
        ];
        for (text, members, arrivals, turns) in rows {
            let entries = level_turns(members, arrivals);
            assert_eq!(entries.len(), level_length(members.len()), "{text}");
            let got: Vec<usize> = members.iter().map(|one| counts(&entries, one.entry)).collect();
            assert_eq!(got, turns, "{text}");
        }
        assert_eq!(level_turns(&[], 5), Vec::<u32>::new());
    }

    #[test]
    fn repeated_levelling_keeps_unequal_servers_level() {
        // Connections of the second server last four times as long; each second 400 arrive.
        let mut flows = [0.0_f64; 2];
        let mut before = [0.0; 2];
        let mut begun = [0.0; 2];
        for _ in 0..60 {
            let left = |at: usize| {
                remaining_connections(before[at] as u32, begun[at] as u32, flows[at] as u32)
            };
            let entries = level_turns(&[member(0, 1, left(0)), member(1, 1, left(1))], 400);
            before = flows;
            for (at, last) in [(0, 2.0), (1, 8.0)] {
                let share = counts(&entries, at as u32) as f64 / entries.len() as f64;
                begun[at] = 400.0 * share;
                flows[at] += begun[at] - flows[at] / last;
            }
        }
        assert!((flows[0] / flows[1] - 1.0).abs() < 0.1, "{flows:?}");
    }

    #[test]
    fn large_pools_are_levelled_too() {
        let members: Vec<LeveledMember> = (0..5_000).map(|at| member(at, 1, at)).collect();
        let entries = level_turns(&members, 1_000);
        assert_eq!(entries.len(), 5_000);
        assert!((0..5_000).all(|at| counts(&entries, at) > 0));
    }

    #[test]
    fn large_weights_fit() {
        let members: Vec<(u32, u32)> = (0..1_000).map(|at| (at, 1 + at % 256)).collect();
        let entries = turns(&members);
        assert!(entries.len() as u64 <= TURNS + 1_000, "{}", entries.len());
        assert!((0..1_000).all(|at| counts(&entries, at) > 0));
    }
}
