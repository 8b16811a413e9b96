//! Results of DNS queries, as a table whose lines add up.

use api::types::NamesReport;

use crate::show::table::{TextTable, left, right};
use crate::show::unit::count;

/// A balance for each transport that was used.
pub(super) fn balances(names: &[NamesReport]) -> TextTable {
    let mut table = TextTable::new(&[left("DNS QUERIES"), right("TOTAL")]);
    for NamesReport { transport, received, outcomes, unaccounted } in names {
        if *received == 0 {
            continue;
        }
        table.row(vec![format!("over {transport}").into(), count(*received).into()]);
        for (outcome, total) in outcomes {
            table.row(vec![format!("  {outcome}").into(), count(*total).into()]);
        }
        table.row(vec!["  unaccounted".into(), count(*unaccounted).into()]);
    }
    table
}
