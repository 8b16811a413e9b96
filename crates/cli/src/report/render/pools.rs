//! Retries, hedges and refusals of pools, as a table.

use api::types::PoolReport;

use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, rate};

/// A row for each count of each pool that had further attempts, or was refused one.
pub(super) fn costs(pools: &[PoolReport]) -> TextTable {
    let mut table =
        TextTable::new(&[left("POOL"), left("BEYOND ONE ATTEMPT"), right("TOTAL"), right("/S")]);
    for pool in
        pools.iter().filter(|pool| pool.counts.iter().any(|counter| counter.name != "requests"))
    {
        for counter in &pool.counts {
            table.row(vec![
                pool.name.as_str().into(),
                counter.name.as_str().into(),
                count(counter.count.total).into(),
                rate(counter.count.rate).into(),
            ]);
        }
    }
    table
}
