//! The error budgets of SLOs, as a table. Pure.

use api::types::{BurnSpan, ObjectiveStatus, Status};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::{budget_left, percent, span};

/// A row for each objective.
pub(super) fn promises(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("OBJECTIVE"),
        right("TARGET"),
        right("ACTUAL"),
        right("WINDOW"),
        right("BUDGET LEFT"),
        right("BURN 5M/1H"),
        right("BURN 30M/6H"),
        left("ALARM"),
    ]);
    for service in &status.services {
        for promise in &service.objectives {
            let left = budget_left(promise.budget_remaining_percent);
            let burn = |at: usize| match promise.alarms.get(at) {
                Some(alarm) => format!("{} / {}", times(&alarm.short), times(&alarm.long)),
                None => String::new(),
            };
            table.row(vec![
                format!("{}: {}", service.name, promise.kind).into(),
                percent(promise.target_percent).into(),
                promise.good_percent.map_or_else(|| "-".to_owned(), percent).into(),
                span(promise.window_ms).into(),
                match promise.budget_remaining_percent > 0.0 {
                    true => left.into(),
                    false => TextCell::coloured(left, Colour::Bad),
                },
                burn(0).into(),
                burn(1).into(),
                alarm(promise, status.now_unix_ms),
            ]);
        }
    }
    table
}

fn times(span: &BurnSpan) -> String {
    span.burn_rate.map_or_else(|| "-".to_owned(), |burn| format!("{burn:.1}"))
}

fn alarm(promise: &ObjectiveStatus, now_unix_ms: u64) -> TextCell {
    let since = promise.alarms.iter().filter_map(|alarm| alarm.since_unix_ms).min();
    match since {
        Some(since) => {
            let age = span(now_unix_ms.saturating_sub(since));
            TextCell::with_lead("burning", Colour::Bad, &format!(" {age}"))
        }
        None => "none".into(),
    }
}
