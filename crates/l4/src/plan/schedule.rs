//! The order in which a pool's servers are chosen, as entries of a table. Pure.

/// Entries of one schedule of turns; weights are made smaller until they fit.
pub const TURNS: u64 = 4_096;

/// Smooth weighted turns: each member as often as its weight says, as evenly spread as it can be. Members are given by
/// what stands in the entries, with their weight; those of weight 0 do not appear.
pub fn turns(members: &[(u32, u32)]) -> Vec<u32> {
    let divisor = members.iter().fold(0, |all, (_, weight)| gcd(all, *weight)).max(1);
    let total: u64 = members.iter().map(|(_, weight)| u64::from(weight / divisor)).sum();
    let share = |weight: u32| {
        let weight = u64::from(weight / divisor);
        if total <= TURNS || weight == 0 { weight } else { (weight * TURNS / total).max(1) }
    };
    let mut places: Vec<(f64, usize, u32)> = Vec::new();
    for (at, (entry, weight)) in members.iter().enumerate() {
        let count = share(*weight);
        // The k-th of n turns stands in the middle of the k-th n-th of the round.
        places.extend((0..count).map(|turn| ((turn as f64 + 0.5) / count as f64, at, *entry)));
    }
    places.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    places.into_iter().map(|(_, _, entry)| entry).collect()
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

    #[test]
    fn large_weights_fit() {
        let members: Vec<(u32, u32)> = (0..1_000).map(|at| (at, 1 + at % 256)).collect();
        let entries = turns(&members);
        assert!(entries.len() as u64 <= TURNS + 1_000, "{}", entries.len());
        assert!((0..1_000).all(|at| counts(&entries, at) > 0));
    }
}
