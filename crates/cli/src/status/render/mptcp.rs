//! Connections of Multipath TCP and their subflows as a table.

use api::types::{MptcpStatus, Status};

use crate::show::table::{TextTable, left, right};
use crate::show::unit::count;

pub(super) fn endpoints(status: &Status) -> TextTable {
    let mut table =
        TextTable::new(&[left("MPTCP ENDPOINT"), right("NUMBER"), left("USE"), left("SET BY")]);
    for one in status.mptcp.iter().flat_map(|all| &all.endpoints) {
        let uses = [(one.subflow, "subflow"), (one.signal, "signal"), (one.backup, "backup")];
        let uses: Vec<&str> = uses.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
        table.row(vec![
            one.address.to_string().into(),
            one.id.to_string().into(),
            uses.join(", ").into(),
            if one.managed { "this daemon" } else { "somebody else" }.into(),
        ]);
    }
    table
}

/// Each subflow of each connection that is shown.
pub(super) fn subflows(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("MPTCP CONNECTION"),
        left("SUBFLOW"),
        right("ROUND TRIP"),
        right("BYTES OUT"),
        right("BYTES IN"),
    ]);
    let Some(MptcpStatus { connections, .. }) = &status.mptcp else { return table };
    for one in connections {
        for (at, part) in one.subflows.iter().enumerate() {
            let whole = format!("{} → {}", one.local, one.remote);
            table.row(vec![
                if at == 0 { whole } else { String::new() }.into(),
                format!("{} → {}", part.local, part.remote).into(),
                format!("{:.1} ms", f64::from(part.round_trip_us) / 1000.0).into(),
                count(part.sent).into(),
                count(part.received).into(),
            ]);
        }
    }
    table
}
