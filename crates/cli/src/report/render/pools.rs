//! Retries, hedges and refusals of pools, as a table.

use api::types::PoolReport;

use crate::show::table::{Align, TextTable};
use crate::show::unit::{count, rate};

/// A row for each count of each pool that had further attempts, or was refused one.
pub(super) fn costs(pools: &[PoolReport]) -> TextTable {
    let mut table = TextTable::new(&[
        ("POOL", Align::Left),
        ("BEYOND ONE ATTEMPT", Align::Left),
        ("TOTAL", Align::Right),
        ("/S", Align::Right),
    ]);
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
