//! Bundles of links as a table.

use api::types::{LinkStatus, Status};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::count;

/// Each link of each bundle.
pub(super) fn links(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("BUNDLE"),
        left("POLICY"),
        left("LINK"),
        left("VIA"),
        right("ROUND TRIP"),
        right("LOSS"),
        right("HELD"),
        right("PACKETS"),
        left("STATE"),
    ]);
    for bundle in &status.links {
        for (at, link) in bundle.links.iter().enumerate() {
            let LinkStatus { interface, via, state, reason, .. } = link;
            let first = |text: &str| if at == 0 { text.to_owned() } else { String::new() };
            let via: Vec<String> = via.iter().map(ToString::to_string).collect();
            let trip = link.round_trip_us.map_or_else(|| "-".to_owned(), millis);
            let held =
                if link.added_delay_us == 0 { "-".to_owned() } else { millis(link.added_delay_us) };
            let colour = if state == "alive" { Colour::Good } else { Colour::Bad };
            let why = if at == 0 && bundle.state == "down" { &bundle.reason } else { reason };
            table.row(vec![
                first(&bundle.name).into(),
                first(&bundle.policy).into(),
                interface.as_str().into(),
                via.join("\n").into(),
                trip.into(),
                format!("{:.1} %", link.loss * 100.0).into(),
                held.into(),
                count(link.packets).into(),
                TextCell::with_lead(state, colour, &format!(" {why}")),
            ]);
        }
    }
    table
}

fn millis(micros: u64) -> String {
    format!("{:.1} ms", micros as f64 / 1000.0)
}
