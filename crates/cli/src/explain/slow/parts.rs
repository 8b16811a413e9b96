//! Common parts of both kinds of services: bars of owners, reasons, groups, times. Pure.

use api::types::{SlowGroup, SlowOwner, SlowReason};

use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, micros};

/// Reasons, each with its advice.
pub fn render_reasons(reasons: &[SlowReason]) -> String {
    let one = |reason: &SlowReason| {
        format!(
            "  {:>5.1} %  {}: {} ({})\n           {}\n",
            reason.share_percent,
            plain(&reason.owner),
            plain(&reason.title),
            plain(&reason.limit),
            plain(&reason.advice)
        )
    };
    reasons.iter().filter(|reason| reason.share_percent >= 1.0).map(one).collect()
}

/// A bar for each owner that has a part.
pub fn render_owner_bars(owners: &[SlowOwner], width: usize, paint: Paint) -> String {
    // 40 columns are for the label and the figures. Beyond 60 a longer bar shows nothing more.
    let room = width.saturating_sub(40).clamp(10, 60);
    let mut out = String::new();
    for part in owners {
        let colour = match part.owner.as_str() {
            "client" => Colour::Good,
            "network" => Colour::Doubt,
            "server" => Colour::Bad,
            _ if part.seconds > 0.0 => Colour::Quiet,
            _ => continue,
        };
        let long = (part.share_percent.clamp(0.0, 100.0) / 100.0 * room as f64).round() as usize;
        let bar = paint.text(colour, &format!("{:room$}", "#".repeat(long)));
        let time = millis(part.seconds * 1e3);
        out.push_str(&format!(
            "  {:9} {bar} {:>5.1} %  {time}\n",
            plain(&part.owner),
            part.share_percent
        ));
    }
    out
}

pub fn group_table(title: &'static str, unit: &'static str, groups: &[SlowGroup]) -> TextTable {
    let mut table = TextTable::new(&[left(title), right(unit), right("TIME"), left("MOST OF IT")]);
    for group in groups {
        table.row(vec![
            plain(&group.name).as_str().into(),
            count(group.exchanges.round() as u64).into(),
            millis(group.seconds * 1e3).into(),
            format!("{}: {}", plain(&group.owner), plain(&group.limit)).into(),
        ]);
    }
    table
}

pub fn millis(time: f64) -> String {
    micros((time * 1e3).round().max(0.0) as u64)
}
