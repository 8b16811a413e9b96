//! Records of a stretch of time → totals, rates, lines and the worst moments. Pure.

use std::collections::BTreeMap;

use api::types::{History, HistoryRow, WorstRecord};
use model::history::{HistoryRecord, MergeRule, MetricRow, columns, merge_rows};

use super::store::StoredRecords;

/// Parts of a line.
const PARTS: usize = 60;
/// The worst records that are listed for each row.
const WORST: usize = 3;
/// The limit of listed rows; the rows with the fewest counts are left out.
const ROWS: usize = 2_000;

/// A row with the record that it stands in.
struct RecordedRow<'a> {
    record: &'a HistoryRecord,
    row: &'a MetricRow,
}

/// The fraction that one part of a line shows.
#[derive(Clone, Copy, Default)]
struct LinePart {
    above: f64,
    below: f64,
}

pub fn build_history(found: StoredRecords, since_unix_ms: u64, until_unix_ms: u64) -> History {
    let StoredRecords { records, unreadable } = found;
    let covered_ms = records.iter().map(span_ms).fold(0, u64::saturating_add);
    let mut rows: BTreeMap<&str, Vec<RecordedRow<'_>>> = BTreeMap::new();
    for record in &records {
        for row in &record.rows {
            rows.entry(&row.name).or_default().push(RecordedRow { record, row });
        }
    }
    let one = |(name, of): (&&str, &Vec<_>)| row(name, of, since_unix_ms, until_unix_ms);
    let mut rows: Vec<HistoryRow> = rows.iter().map(one).collect();
    if rows.len() > ROWS {
        rows.sort_by_key(|row| std::cmp::Reverse(row.values.get("requests").copied()));
        rows.truncate(ROWS);
        rows.sort_by(|a, b| a.name.cmp(&b.name));
    }
    History {
        since_unix_ms,
        until_unix_ms,
        covered_ms,
        records: records.len() as u64,
        unreadable_bytes: unreadable,
        failures: 0,
        rows,
    }
}

fn span_ms(record: &HistoryRecord) -> u64 {
    u64::from(record.span) * 1000
}

/// A file's numbers may be any: nothing here may overflow.
fn at_ms(record: &HistoryRecord) -> u64 {
    record.at.saturating_mul(1000)
}

fn row(name: &str, of: &[RecordedRow<'_>], since: u64, until: u64) -> HistoryRow {
    let mut sum = MetricRow { name: name.to_owned(), numbers: Vec::new() };
    of.iter().for_each(|one| merge_rows(&mut sum, one.row));
    let seconds: u64 = of.iter().map(|one| u64::from(one.record.span)).sum();
    let seconds = seconds.max(1);
    let named = || columns(name).iter().zip(&sum.numbers);
    let rates = named().filter(|(column, _)| column.merge == MergeRule::Sum);
    let up = name.starts_with("server/");
    HistoryRow {
        name: name.to_owned(),
        values: named().map(|(column, number)| (column.name.to_owned(), *number)).collect(),
        rates: rates
            .map(|(column, number)| (column.name.to_owned(), *number as f64 / seconds as f64))
            .collect(),
        points_unit: match () {
            () if up => "share of time up",
            () if name == "process" => "connections",
            () if name.starts_with("packets/") => "connections a second",
            () if name.starts_with("users/") => "share that did not fail",
            () => "requests a second",
        }
        .to_owned(),
        points: line(name, of, since, until),
        worst: worst(name, of),
    }
}

fn line(name: &str, of: &[RecordedRow<'_>], since: u64, until: u64) -> Vec<Option<f64>> {
    let length = until.saturating_sub(since).max(1);
    let mut parts = vec![LinePart::default(); PARTS];
    for RecordedRow { record, row } in of {
        let middle = at_ms(record).saturating_sub(span_ms(record) / 2).saturating_sub(since);
        let at = usize::try_from(u128::from(middle) * PARTS as u128 / u128::from(length));
        let Some(part) = parts.get_mut(at.unwrap_or(PARTS).min(PARTS - 1)) else { continue };
        let number = |what: &str| {
            let at = columns(name).iter().position(|column| column.name == what);
            at.and_then(|at| row.numbers.get(at)).copied().unwrap_or(0) as f64
        };
        let (above, below) = match name.split('/').next() {
            Some("server") => {
                let states = ["up-ms", "down-ms", "unknown-ms", "drain-ms", "disabled-ms"];
                (number("up-ms"), states.iter().map(|state| number(state)).sum())
            }
            Some("process") => (number("connections"), 1.0),
            Some("packets") => (number("connections"), f64::from(record.span)),
            Some("users") => {
                let good = number("fast") + number("slow");
                (good, good + number("failed"))
            }
            _ => (number("requests"), f64::from(record.span)),
        };
        part.above += above;
        part.below += below;
    }
    let value = |part: LinePart| (part.below > 0.0).then(|| part.above / part.below);
    parts.into_iter().map(value).collect()
}

/// The records with the most trouble.
fn worst(name: &str, of: &[RecordedRow<'_>]) -> Vec<WorstRecord> {
    let bad = ["failed", "server-errors", "refused", "connect-failed", "down-ms", "dropped"];
    let mut all: Vec<WorstRecord> = Vec::new();
    for RecordedRow { record, row } in of {
        let named = columns(name).iter().zip(&row.numbers);
        let bads = named.filter(|(column, number)| bad.contains(&column.name) && **number > 0);
        if let Some((column, count)) = bads.max_by_key(|(_, number)| **number) {
            all.push(WorstRecord {
                at_unix_ms: at_ms(record),
                span_ms: span_ms(record),
                kind: column.name.to_owned(),
                count: *count,
            });
        }
    }
    all.sort_by_key(|one| std::cmp::Reverse(one.count));
    all.truncate(WORST);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(at: u64, requests: u64, failed: u64, down: u64) -> HistoryRecord {
        let service = vec![1, 0, requests, failed, 0, 10, 20, 5, 900];
        let server = vec![requests, 0, 0, 1, 60_000 - down, down, 0, 0, 0];
        let row = |name: &str, numbers| MetricRow { name: name.into(), numbers };
        let rows = vec![row("service/shop", service), row("server/web/a", server)];
        HistoryRecord { at, span: 60, rows }
    }

    #[test]
    fn an_hour_is_reported_with_its_worst_minutes() {
        let records: Vec<HistoryRecord> = (1..=60)
            .map(|minute| match minute {
                30 => record(minute * 60, 600, 50, 60_000),
                31 => record(minute * 60, 600, 7, 30_000),
                _ => record(minute * 60, 1_200, 0, 0),
            })
            .collect();
        let history = build_history(StoredRecords { records, unreadable: 3 }, 0, 3_600_000);
        assert_eq!((history.covered_ms, history.records), (3_600_000, 60));
        let shop = history.rows.iter().find(|row| row.name == "service/shop").unwrap();
        assert_eq!((shop.values["requests"], shop.values["failed"]), (58 * 1_200 + 1_200, 57));
        assert!((shop.rates["requests"] - 70_800.0 / 3_600.0).abs() < 1e-9);
        assert_eq!(
            (shop.points.len(), shop.points[0], shop.points[29]),
            (60, Some(20.0), Some(10.0))
        );
        let worst: Vec<u64> = shop.worst.iter().map(|it| it.at_unix_ms / 60_000).collect();
        assert_eq!((worst, shop.worst[0].count), (vec![30, 31], 50));
        let server = history.rows.iter().find(|row| row.name == "server/web/a").unwrap();
        assert_eq!(&server.points[28..32], [Some(1.0), Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!(server.values["down-ms"], 90_000);
    }

    #[test]
    fn packets_have_connections_and_drops() {
        let record = |at, connections, dropped| {
            let numbers = vec![1_000, dropped, connections, 10, 20, 5, 2];
            let rows = vec![MetricRow { name: "packets/shop".into(), numbers }];
            HistoryRecord { at, span: 60, rows }
        };
        let records = vec![record(60, 120, 0), record(120, 240, 9)];
        let history = build_history(StoredRecords { records, unreadable: 0 }, 0, 120_000);
        let shop = &history.rows[0];
        assert_eq!((shop.values["packets"], shop.values["half-open"]), (2_000, 2));
        assert_eq!(
            (shop.points_unit.as_str(), shop.points[45]),
            ("connections a second", Some(4.0))
        );
        assert_eq!((shop.worst.len(), shop.worst[0].kind.as_str()), (1, "dropped"));
    }

    #[test]
    fn nothing_is_nothing() {
        let history = build_history(StoredRecords::default(), 10, 5);
        assert!(history.rows.is_empty() && history.covered_ms == 0);
    }
}
