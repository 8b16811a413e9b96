//! Uplinks as a table.

use api::types::{Status, UplinkStatus};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::count;

/// Each uplink in each family.
pub(super) fn uplinks(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("UPLINK"),
        left("INTERFACE"),
        left("GATEWAY"),
        left("SOURCE"),
        right("TABLE"),
        right("SHARE"),
        right("ROUND TRIP"),
        right("LOSS"),
        right("OWN"),
        right("FORWARDED"),
        left("STATE"),
    ]);
    for one in status.uplinks.iter().flat_map(|all| &all.uplinks) {
        let UplinkStatus { name, interface, gateway, source, state, reason, .. } = one;
        let millis = |micros: u64| format!("{:.1} ms", micros as f64 / 1000.0);
        let colour = if state == "up" { Colour::Good } else { Colour::Bad };
        table.row(vec![
            name.as_str().into(),
            interface.as_str().into(),
            gateway.to_string().into(),
            source.map_or_else(|| "-".to_owned(), |source| source.to_string()).into(),
            one.table.to_string().into(),
            format!("{:.1} %", one.share * 100.0).into(),
            one.round_trip_us.map_or_else(|| "-".to_owned(), millis).into(),
            format!("{:.1} %", one.loss * 100.0).into(),
            count(one.originated).into(),
            count(one.forwarded).into(),
            TextCell::with_lead(state, colour, &format!(" {reason}")),
        ]);
    }
    table
}
