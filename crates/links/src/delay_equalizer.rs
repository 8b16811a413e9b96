//! What follows from the delays of links: how long packets of faster links are held, and which silence lets a flow
//! change links. Pure.

use std::time::Duration;

/// A smaller difference is left alone: TCP tolerates it, and busy machines measure as much between equal links.
pub const ALIKE: Duration = Duration::from_millis(1);
/// The longest hold; links that differ by more are not equalised.
pub const LONGEST: Duration = Duration::from_millis(500);
/// The shortest silence after which a flow may change links. Shorter pauses also come from a busy processor.
pub const LEAST_GAP: Duration = Duration::from_micros(500);

/// How long packets of each link are held so that all links are as slow as the slowest. `None` for a link: the link is
/// dead or its delay is unknown, and nothing is held for it.
pub fn hold_times(delays: &[Option<Duration>]) -> Vec<Duration> {
    let longest = delays.iter().flatten().max().copied().unwrap_or_default();
    let hold = |delay: &Option<Duration>| {
        let more = delay.map_or(Duration::ZERO, |delay| longest - delay);
        if more < ALIKE || more > LONGEST { Duration::ZERO } else { more }
    };
    delays.iter().map(hold).collect()
}

/// Silence after which a flow may change links without reordering.
pub fn flowlet_gap(delays: &[Option<Duration>]) -> Duration {
    delay_skew(delays) * 5 / 4 + LEAST_GAP
}

/// By how much the slowest link is slower than the fastest.
pub fn delay_skew(delays: &[Option<Duration>]) -> Duration {
    let known = || delays.iter().flatten().copied();
    known().max().zip(known().min()).map_or(Duration::ZERO, |(most, least)| most - least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(of: &[Option<f64>]) -> Vec<Option<Duration>> {
        of.iter().map(|one| one.map(|ms| Duration::from_secs_f64(ms / 1000.0))).collect()
    }

    #[test]
    fn rows() {
        let rows = [
            (vec![Some(1.0), Some(9.5)], vec![8.5, 0.0], 11.125),
            (vec![Some(1.0), Some(1.8)], vec![0.0, 0.0], 1.5),
            (vec![Some(1.0), None], vec![0.0, 0.0], 0.5),
            (vec![Some(1.0), Some(601.0)], vec![0.0, 0.0], 750.5),
            (vec![Some(3.0), Some(1.0), Some(2.0)], vec![0.0, 2.0, 1.0], 3.0),
            (vec![], vec![], 0.5),
        ];
        for (delays, held, silence) in rows {
            let of = ms(&delays);
            let held: Vec<Duration> =
                ms(&held.into_iter().map(Some).collect::<Vec<_>>()).into_iter().flatten().collect();
            assert_eq!(hold_times(&of), held, "{delays:?}");
            let expected = Duration::from_secs_f64(silence / 1000.0);
            assert_eq!(flowlet_gap(&of), expected, "{delays:?}");
        }
    }
}
