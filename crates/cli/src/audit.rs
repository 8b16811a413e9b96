//! `steelyard audit`: operators' commands, each with its author, its time, and the state before and after.

use std::process::ExitCode;

use api::types::{Audit, AuditRecord};

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::moment;
use crate::time_spec::{TimeSpec, now_ms, when};

/// Show who changed what and when, with old and new values.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard audit                         all stored records
  steelyard audit --since 2h
  steelyard audit --since 10m --watch     again every two seconds, until Ctrl-C
  steelyard audit --since 2026-11-22T08:00 --json | jq '.records[] | select(.who | startswith(\"uid 0\"))'

A record marked with * can be undone with `steelyard undo NUMBER`, unless something changed the same setting
since.")]
pub struct AuditArgs {
    /// Only since then: 2h, 08:00, or 2026-11-22T08:00.
    #[arg(long, value_name = "WHEN", value_parser = when)]
    since: Option<TimeSpec>,
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &AuditArgs) -> ExitCode {
    finish(args.contact.json, block_on(print_audit(args)))
}

async fn print_audit(args: &AuditArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    // A span is one before each look.
    let ask = || async { Ok(client.audit(args.since.map(|since| since.before(now_ms()))).await?) };
    let show = |audit: &Audit| render(audit, screen::width(), Paint::for_stdout());
    show_or_watch(args.again, args.contact.json, ask, show).await
}

fn render(audit: &Audit, width: usize, paint: Paint) -> String {
    let columns =
        [right("RECORD"), left("WHEN"), left("WHAT"), left("WHO"), left("BEFORE"), left("AFTER")];
    let mut table = TextTable::new(&columns);
    for record in &audit.records {
        table.row(vec![
            number_cell(record),
            moment(record.at_unix_ms).into(),
            describe_change(record).into(),
            format!("{} by {}", record.who, record.way).into(),
            record.before.as_str().into(),
            record.after.as_str().into(),
        ]);
    }
    let mut text = table.render(width, paint);
    if audit.unreadable > 0 {
        text.push_str(&format!("{} lines of the record cannot be read\n", audit.unreadable));
    }
    if audit.failures > 0 {
        text.push_str(&format!("{} records could not be written\n", audit.failures));
    }
    text
}

fn number_cell(record: &AuditRecord) -> TextCell {
    match record.reversible {
        true => TextCell::coloured(format!("{}*", record.id), Colour::Good),
        false => record.id.to_string().into(),
    }
}

fn describe_change(record: &AuditRecord) -> String {
    let AuditRecord { action, target, saved, undoes, .. } = record;
    let undoes = undoes.map(|id| format!(" of record {id}")).unwrap_or_default();
    let saved = if saved.is_some() { ", saved" } else { "" };
    format!("{action}{undoes}: {target}{saved}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_line() {
        let record = AuditRecord {
            id: 7,
            at_unix_ms: 1_772_283_909_000,
            who: "uid 0 (root)".into(),
            way: "api".into(),
            action: "drain".into(),
            target: "web/a".into(),
            before: "up".into(),
            after: "drain".into(),
            saved: Some("/etc/s.toml".into()),
            undoes: None,
            part_of: None,
            reversible: true,
        };
        let undo = AuditRecord { id: 8, action: "undo".into(), undoes: Some(7), ..record.clone() };
        let records = vec![record, AuditRecord { reversible: false, saved: None, ..undo }];
        let text = render(&Audit { records, unreadable: 1, failures: 0 }, 200, Paint::fixed(false));
        let expected = "\
RECORD  WHEN                  WHAT                       WHO                  BEFORE  AFTER
    7*  2026-02-28 13:05:09Z  drain: web/a, saved        uid 0 (root) by api  up      drain
     8  2026-02-28 13:05:09Z  undo of record 7: web/a    uid 0 (root) by api  up      drain
1 lines of the record cannot be read
";
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>(),
            expected.split_whitespace().collect::<Vec<_>>()
        );
    }
}
