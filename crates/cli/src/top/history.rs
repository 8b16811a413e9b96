//! The recent rates of each service, as many as a screen can show. Pure.

use std::collections::VecDeque;

/// Stored snapshots: wider screens are rare. Bounds the memory of the history.
const LOOKS_MAX: usize = 300;

/// The rates of one service, the latest at the end.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceTrend {
    pub name: String,
    pub rates: VecDeque<f64>,
}

impl ServiceTrend {
    /// At the last look.
    pub fn last(&self) -> f64 {
        self.rates.back().copied().unwrap_or(0.0)
    }

    fn sum(&self) -> f64 {
        self.rates.iter().sum()
    }
}

/// The requests of a service a second, and its new connections of the packet plane.
#[derive(Clone, Debug)]
pub struct ServiceArrivalRate {
    pub service: String,
    pub per_second: f64,
}

/// The services that there are now, as configured.
#[derive(Clone, Debug, Default)]
pub struct TrendHistory {
    trends: Vec<ServiceTrend>,
}

impl TrendHistory {
    /// Another look. A service that is gone is forgotten.
    pub fn add(&mut self, rates: Vec<ServiceArrivalRate>) {
        let mut before = std::mem::take(&mut self.trends);
        for ServiceArrivalRate { service: name, per_second } in rates {
            let known = before.iter().position(|trend| trend.name == name);
            let mut trend = match known {
                Some(at) => before.swap_remove(at),
                None => ServiceTrend { name, rates: VecDeque::new() },
            };
            if trend.rates.len() == LOOKS_MAX {
                trend.rates.pop_front();
            }
            trend.rates.push_back(per_second);
            self.trends.push(trend);
        }
    }

    /// How many services there are.
    pub fn services(&self) -> usize {
        self.trends.len()
    }

    /// Those that took most, at most so many; in their order.
    pub fn busiest(&self, most: usize) -> Vec<&ServiceTrend> {
        let mut places: Vec<usize> = (0..self.trends.len()).collect();
        places.sort_by(|a, b| self.trends[*b].sum().total_cmp(&self.trends[*a].sum()));
        places.truncate(most);
        places.sort_unstable();
        places.into_iter().map(|place| &self.trends[place]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_stay_in_their_order_and_the_gone_are_forgotten() {
        let mut history = TrendHistory::default();
        let look = |history: &mut TrendHistory, of: &[(&str, f64)]| {
            let rate = |(name, per_second): &(&str, f64)| ServiceArrivalRate {
                service: (*name).to_owned(),
                per_second: *per_second,
            };
            history.add(of.iter().map(rate).collect());
        };
        look(&mut history, &[("a", 1.0), ("b", 3.0), ("c", 2.0)]);
        look(&mut history, &[("a", 2.0), ("c", 5.0), ("b", 9.0)]);
        let names = |history: &TrendHistory, most| {
            history.busiest(most).iter().map(|trend| trend.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&history, 9), ["a", "c", "b"]);
        assert_eq!(names(&history, 2), ["c", "b"]);
        assert_eq!(history.busiest(1)[0].rates, [3.0, 9.0]);
        look(&mut history, &[("a", 0.0)]);
        assert_eq!((names(&history, 9), history.services()), (vec!["a".to_owned()], 1));
        for _ in 0..2 * LOOKS_MAX {
            look(&mut history, &[("a", 7.0)]);
        }
        let busiest = &history.busiest(1)[0];
        assert_eq!((busiest.rates.len(), busiest.last()), (LOOKS_MAX, 7.0));
    }
}
