//! What users met, as rows of history and back. What it means is `users`'s to say.

use std::io;

use model::history::{HistoryRecord, MetricRow};
use model::slo::outcome::TcpError;
use model::slo::outcome_counts::SloOutcomeCounts;
use model::slo::series::SloCounts;

use super::store::HistoryReader;
use crate::observability::report::totals::ServiceTotals;
use crate::observability::slo::past_outcomes::{PastOutcomes, UserHistory};

/// How their rows begin.
const KIND: &str = "users/";

/// A service's row; `None`: nothing is promised to its users.
pub(super) fn row(service: &str, old: &ServiceTotals, new: &ServiceTotals) -> Option<MetricRow> {
    let before = old.users.unwrap_or_default();
    let grown = new.users.as_ref()?.minus(&before);
    Some(MetricRow { name: format!("{KIND}{service}"), numbers: numbers(&grown) })
}

/// In the order of `model::history::USERS`.
fn numbers(tally: &SloOutcomeCounts) -> Vec<u64> {
    let ends = [tally.fast(), tally.slow(), tally.failed(), tally.client_aborted()];
    ends.into_iter().chain(TcpError::ALL.map(|kind| tally.error(kind))).collect()
}

/// Reads the counts of these services from files.
pub(super) fn read(
    store: &HistoryReader,
    services: &[String],
    since: u64,
    until: u64,
) -> io::Result<UserHistory> {
    let wanted = |name: &str| {
        name.strip_prefix(KIND).is_some_and(|name| services.iter().any(|known| known == name))
    };
    Ok(collect_users(&store.read_rows(since, until, wanted)?.records))
}

fn collect_users(records: &[HistoryRecord]) -> UserHistory {
    let mut past = UserHistory::new();
    for record in records {
        let at = record.at.saturating_sub(u64::from(record.span) / 2);
        for row in &record.rows {
            let Some(service) = row.name.strip_prefix(KIND) else { continue };
            let [fast, slow, failed, ..] = row.numbers[..] else { continue };
            let counts = SloCounts { fast, slow, failed };
            past.entry(service.to_owned()).or_default().push(PastOutcomes { at, counts });
        }
    }
    past
}

#[cfg(test)]
mod tests {
    use model::history::USERS;

    use super::*;

    #[test]
    fn a_row_says_what_grew_by_name_and_is_read_back() {
        let mut tally = SloOutcomeCounts(std::array::from_fn(|at| 100 + at as u64));
        let old = ServiceTotals { users: Some(tally), ..ServiceTotals::default() };
        for (at, count) in tally.0.iter_mut().enumerate() {
            *count += at as u64;
        }
        let new = ServiceTotals { users: Some(tally), ..ServiceTotals::default() };
        let found = row("shop", &old, &new).unwrap();
        let named: Vec<_> =
            USERS.iter().map(|column| column.name).zip(found.numbers.clone()).collect();
        assert_eq!(named.len(), found.numbers.len());
        assert_eq!(named[..4], [("fast", 0), ("slow", 1), ("failed", 2), ("aborted", 3)]);
        for (kind, (name, count)) in TcpError::ALL.iter().zip(&named[4..]) {
            assert_eq!((kind.name(), *kind as u64 + 6), (*name, *count));
        }
        let rows = vec![found, MetricRow { name: "users/torn".into(), numbers: vec![1] }];
        let past = collect_users(&[HistoryRecord { at: 1_000, span: 60, rows }]);
        assert_eq!(past.len(), 1);
        let counts = SloCounts { fast: 0, slow: 1, failed: 2 };
        assert_eq!(past["shop"], [PastOutcomes { at: 970, counts }]);
        assert_eq!(row("shop", &old, &ServiceTotals::default()), None);
    }
}
