//! Counters read in batches equal those read singly, at any indexes.

use l4::TableSizes;
use l4::abi::{ServerCount, ServiceCount};

use super::world::DatapathTestbed;

#[test]
fn what_is_read_together_is_what_is_read_alone() {
    let Some(world) = DatapathTestbed::sized(&TableSizes::default()) else { return };
    let servers = &world.plane.server_counts;
    let services = &world.plane.service_counts;
    let most = servers.capacity();
    let last = services.capacity() - 1;
    // Single indexes, neighbours, more neighbours than one batch, the last one, and one beyond the end.
    let mut indexes: Vec<u32> = vec![0, 1, 2, 7, 9, 10];
    indexes.extend(600..1_700);
    indexes.extend([most - 2, most - 1]);
    for index in &indexes {
        let mut count = ServerCount { flows: u64::from(*index) + 5, ..ServerCount::default() };
        count.packets6[3] = u64::from(*index);
        servers.set_each_cpu(index, &count).unwrap();
    }
    let found = servers.each_cpu_entries(&[&indexes[..], &[most]].concat()).unwrap();
    assert_eq!(found.len(), indexes.len(), "what is not there is left out");
    for (entry, wanted) in found.iter().zip(&indexes) {
        let rows = &entry.values;
        assert_eq!(entry.index, *wanted);
        assert_eq!(*rows, servers.each_cpu(wanted).unwrap(), "{wanted}");
        assert!(rows.iter().all(|row| row.flows == u64::from(*wanted) + 5), "{wanted}");
    }
    assert_eq!(servers.each_cpu_entries(&[]).unwrap(), Vec::new());
    let mut count = ServiceCount::default();
    count.packets4[0] = 3;
    services.set_each_cpu(&last, &count).unwrap();
    let found = services.each_cpu_entries(&[3, last]).unwrap();
    let sums: Vec<u64> =
        found.iter().map(|entry| entry.values.iter().map(|row| row.packets4[0]).sum()).collect();
    let cpus = found[1].values.len() as u64;
    assert_eq!((sums, found[1].index), (vec![0, 3 * cpus], last));
}
