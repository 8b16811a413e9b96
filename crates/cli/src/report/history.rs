//! History as text: totals, rates, a sparkline for each service and server, the worst moments.

use api::types::{History, HistoryRow};

use crate::pattern::matches_any;
use crate::show::paint::Paint;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{bytes, count, micros, moment, rate, span};

/// The heights of a line.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The whole text. `only`: this service or pool.
pub fn render(history: &History, only: Option<&str>, width: usize, paint: Paint) -> String {
    let History { since_unix_ms, until_unix_ms, covered_ms, .. } = history;
    let mut text = format!(
        "{} to {}: {} of {} are covered by {} records\n",
        moment(*since_unix_ms),
        moment(*until_unix_ms),
        span(*covered_ms),
        span(until_unix_ms.saturating_sub(*since_unix_ms)),
        count(history.records),
    );
    if history.unreadable_bytes > 0 {
        text.push_str(&format!("{} of it cannot be read\n", bytes(history.unreadable_bytes)));
    }
    if history.failures > 0 {
        text.push_str(&format!("{} records could not be written\n", count(history.failures)));
    }
    let wanted = |row: &&HistoryRow| {
        only.is_none_or(|only| {
            let mut parts = row.name.split('/').skip(1);
            parts.next().is_some_and(|name| matches_any(only, name))
        })
    };
    let rows: Vec<&HistoryRow> = history.rows.iter().filter(wanted).collect();
    let of = |kind: &str| -> Vec<&HistoryRow> {
        rows.iter().filter(|row| row.name.starts_with(kind)).copied().collect()
    };
    let mut tables = vec![services(&of("service/")), users(&of("users/"))];
    tables.extend([packets(&of("packets/")), servers(&of("server/"))]);
    for table in tables {
        let table = table.render(width, paint);
        if !table.is_empty() {
            text.push('\n');
            text.push_str(&table);
        }
    }
    render_worst(&rows, &mut text);
    text
}

fn services(rows: &[&HistoryRow]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVICE"),
        right("REQUESTS"),
        right("A SECOND"),
        right("FAILED"),
        right("5XX"),
        right("SENT"),
        right("MOST OPEN"),
        right("SLOWEST"),
        left("REQUESTS OVER THE TIME"),
    ]);
    for row in rows {
        table.row(vec![
            name(row).into(),
            count(number(row, "requests")).into(),
            rate(row.rates.get("requests").copied().unwrap_or(0.0)).into(),
            count(number(row, "failed")).into(),
            count(number(row, "server-errors")).into(),
            bytes(number(row, "sent-bytes")).into(),
            count(number(row, "open")).into(),
            micros(number(row, "slowest-us")).into(),
            sparkline(&row.points, None).into(),
        ]);
    }
    table
}

fn users(rows: &[&HistoryRow]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SLO OF"),
        right("FAST"),
        right("SLOW"),
        right("FAILED"),
        right("ABORTED"),
        right("REFUSED"),
        right("TIMED OUT"),
        right("ABORTED"),
        right("SILENT"),
        left("NOT FAILED OVER THE TIME"),
    ]);
    for row in rows {
        let sum = |names: &[&str]| names.iter().map(|name| number(row, name)).sum();
        table.row(vec![
            name(row).into(),
            count(number(row, "fast")).into(),
            count(number(row, "slow")).into(),
            count(number(row, "failed")).into(),
            count(number(row, "aborted")).into(),
            count(sum(&["refused-by-server", "refused-by-balancer"])).into(),
            count(number(row, "timed-out")).into(),
            count(sum(&["aborted-by-client", "aborted-by-server", "aborted-by-balancer"])).into(),
            count(sum(&["silent-client", "silent-server"])).into(),
            sparkline(&row.points, Some(1.0)).into(),
        ]);
    }
    table
}

fn packets(rows: &[&HistoryRow]) -> TextTable {
    let mut table = TextTable::new(&[
        left("PACKETS OF"),
        right("CONNECTIONS"),
        right("A SECOND"),
        right("PACKETS"),
        right("DROPPED"),
        right("RECEIVED"),
        right("SENT"),
        right("MOST OPEN"),
        right("HALF-OPEN"),
        left("CONNECTIONS OVER THE TIME"),
    ]);
    for row in rows {
        table.row(vec![
            name(row).into(),
            count(number(row, "connections")).into(),
            rate(row.rates.get("connections").copied().unwrap_or(0.0)).into(),
            count(number(row, "packets")).into(),
            count(number(row, "dropped")).into(),
            bytes(number(row, "received-bytes")).into(),
            bytes(number(row, "sent-bytes")).into(),
            count(number(row, "open")).into(),
            count(number(row, "half-open")).into(),
            sparkline(&row.points, None).into(),
        ]);
    }
    table
}

fn servers(rows: &[&HistoryRow]) -> TextTable {
    let mut table = TextTable::new(&[
        left("SERVER"),
        right("REQUESTS"),
        right("UP"),
        right("DOWN"),
        right("DRAINED"),
        right("NO CONNECTION"),
        right("5XX"),
        left("UP OVER THE TIME"),
    ]);
    for row in rows {
        table.row(vec![
            name(row).into(),
            count(number(row, "requests")).into(),
            span(number(row, "up-ms")).into(),
            span(number(row, "down-ms")).into(),
            span(number(row, "drain-ms") + number(row, "disabled-ms")).into(),
            count(number(row, "connect-failed")).into(),
            count(number(row, "server-errors")).into(),
            sparkline(&row.points, Some(1.0)).into(),
        ]);
    }
    table
}

fn number(row: &HistoryRow, column: &str) -> u64 {
    row.values.get(column).copied().unwrap_or(0)
}

fn render_worst(rows: &[&HistoryRow], text: &mut String) {
    let all: Vec<_> =
        rows.iter().flat_map(|row| row.worst.iter().map(move |one| (row, one))).collect();
    if all.is_empty() {
        return;
    }
    text.push_str("\nThe worst moments\n");
    for (row, one) in all {
        let number = if one.kind.ends_with("-ms") {
            format!("{} for {}", one.kind.trim_end_matches("-ms"), span(one.count))
        } else {
            format!("{} {}", count(one.count), one.kind)
        };
        let at = moment(one.at_unix_ms);
        let long = span(one.span_ms);
        text.push_str(&format!("  {at}  {}: {number} within {long}\n", name(row)));
    }
}

fn name(row: &HistoryRow) -> &str {
    row.name.split_once('/').map_or(row.name.as_str(), |(_, name)| name)
}

/// A sparkline; blank where nothing is known. `most`: the full height, else the highest value.
fn sparkline(parts: &[Option<f64>], most: Option<f64>) -> String {
    let most = most.unwrap_or_else(|| parts.iter().flatten().fold(0.0, |a: f64, b| a.max(*b)));
    let height = |value: f64| {
        let share = if most > 0.0 { value / most } else { 0.0 };
        let at = (share * (HEIGHTS.len() - 1) as f64).round() as usize;
        HEIGHTS[at.min(HEIGHTS.len() - 1)]
    };
    let text: String = parts.iter().map(|part| part.map_or(' ', height)).collect();
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use api::types::WorstRecord;

    use super::*;

    #[test]
    fn lines_rise_and_have_gaps() {
        assert_eq!(sparkline(&[Some(0.0), Some(5.0), None, Some(10.0), None], None), "▁▅ █");
        assert_eq!(sparkline(&[Some(0.5), Some(1.0)], Some(1.0)), "▅█");
        assert_eq!(sparkline(&[Some(0.0)], None), "▁");
    }

    #[test]
    fn one_service_and_its_worst_moment() {
        let worst = vec![WorstRecord {
            at_unix_ms: 60_000,
            span_ms: 60_000,
            kind: "failed".into(),
            count: 7,
        }];
        let row = HistoryRow {
            name: "service/shop".into(),
            values: [("requests".into(), 1_200), ("failed".into(), 7)].into(),
            rates: [("requests".into(), 20.0)].into(),
            points: vec![Some(1.0), Some(2.0)],
            worst,
            ..HistoryRow::default()
        };
        let other = HistoryRow { name: "service/blog".into(), ..HistoryRow::default() };
        let history = History {
            until_unix_ms: 120_000,
            covered_ms: 60_000,
            records: 1,
            rows: vec![row, other],
            ..History::default()
        };
        let text = render(&history, Some("shop"), 200, Paint::fixed(false));
        assert!(text.contains("1m of 2m are covered by 1 records"), "{text}");
        assert!(text.contains("1,200") && text.contains("▅█") && !text.contains("blog"), "{text}");
        assert!(text.contains("shop: 7 failed within 1m"), "{text}");
    }

    #[test]
    fn users_have_a_table_of_their_own() {
        let numbers = [("failed", 7), ("aborted-by-client", 20), ("aborted-by-server", 3)];
        let row = HistoryRow {
            name: "users/shop".into(),
            values: numbers.map(|(name, count)| (name.to_owned(), count)).into(),
            points: vec![Some(1.0), Some(0.5)],
            ..HistoryRow::default()
        };
        let history = History { rows: vec![row], ..History::default() };
        let text = render(&history, Some("shop"), 200, Paint::fixed(false));
        assert!(text.contains("SLO OF") && text.contains("23") && text.contains("█▅"), "{text}");
    }

    #[test]
    fn services_of_packets_have_a_table_of_their_own() {
        let row = HistoryRow {
            name: "packets/dns".into(),
            values: [("connections".into(), 240), ("packets".into(), 4_321)].into(),
            rates: [("connections".into(), 4.0)].into(),
            points: vec![Some(4.0)],
            ..HistoryRow::default()
        };
        let history = History { rows: vec![row], ..History::default() };
        let text = render(&history, Some("dns"), 200, Paint::fixed(false));
        assert!(text.contains("PACKETS OF") && !text.contains("SERVICE"), "{text}");
        assert!(text.contains("4,321") && text.contains("dns"), "{text}");
    }
}
