//! What services that forward packets add to a record of history. Pure: two views of the packet plane → rows.

use l4::counts::{PacketCounts, PlaneCounters};
use model::history::MetricRow;

use api::types::PacketDisposition;

use crate::observability::report::packets::{packet_end, service_outcomes};
use crate::planes::packets::view::{PacketPlaneView, ServiceFlows};

/// A row for each service that forwards packets, by name. A plane that was created after `old` began at zero. Counts of
/// a plane taken over after `old` belong to an earlier time.
pub fn rows(old: &PacketPlaneView, new: &PacketPlaneView) -> Vec<MetricRow> {
    let nothing = PlaneCounters::default();
    let (was, is) = match (&old.current, &new.current) {
        (Some(was), Some(is)) => (&was.counts, &is.counts),
        (None, Some(is)) if !new.is_adopted => (&nothing, &is.counts),
        _ => return Vec::new(),
    };
    let row = |(name, flows): (&String, &ServiceFlows)| {
        let index = *new.services.get(name)?;
        let of = |counts: &PlaneCounters| numbers(counts, index, flows);
        let counted = of(was).into_iter().zip(of(is));
        // An index that was another service's counts on from there: less is none.
        let mut numbers: Vec<u64> = counted.map(|(was, is)| is.saturating_sub(was)).collect();
        numbers.extend([u64::from(flows.flows), u64::from(flows.half_open)]);
        Some(MetricRow { name: format!("packets/{name}"), numbers })
    };
    new.flows.iter().filter_map(row).collect()
}

/// The counts of `model::history::PACKETS`, in their order.
fn numbers(counts: &PlaneCounters, index: u32, flows: &ServiceFlows) -> [u64; 5] {
    let outcomes = service_outcomes(counts, index, flows);
    let dropped =
        outcomes.iter().filter(|(outcome, _)| packet_end(**outcome) == PacketDisposition::Dropped);
    let servers = || flows.indexes.iter().filter_map(|server| counts.servers.get(server));
    [
        outcomes.values().map(PacketCounts::sum).sum(),
        dropped.map(|(_, packets)| packets.sum()).sum(),
        servers().map(|one| one.flows).sum(),
        servers().map(|one| one.bytes_in).sum(),
        servers().map(|one| one.bytes_out).sum(),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use l4::abi::Outcome;
    use l4::counts::ServerCounts;

    use super::*;
    use crate::planes::packets::view::PlaneCounterSample;

    fn view(forwarded: u64, dropped: u64, flows: u64) -> PacketPlaneView {
        let packets = |v4| PacketCounts { v4, ..PacketCounts::default() };
        let server = ServerCounts {
            outcomes: [(Outcome::Forwarded, packets(forwarded))].into(),
            bytes_in: 100 * forwarded,
            bytes_out: 7,
            flows,
            ..ServerCounts::default()
        };
        let mut counts = PlaneCounters::default();
        counts.servers.insert(4, server);
        counts.services.insert(2, [(Outcome::NoServer, packets(dropped))].into());
        let flows =
            ServiceFlows { flows: 9, half_open: 3, indexes: [4].into(), ..ServiceFlows::default() };
        PacketPlaneView {
            flows: [("shop".to_owned(), flows)].into(),
            services: [("shop".to_owned(), 2)].into(),
            current: Some(PlaneCounterSample { at: Instant::now(), counts }),
            ..PacketPlaneView::default()
        }
    }

    #[test]
    fn what_grew_and_what_stands() {
        let rows = rows(&view(10, 1, 2), &view(25, 4, 7));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].name, "packets/shop");
        assert_eq!(rows[0].numbers, [18, 3, 5, 1_500, 0, 9, 3]);
        let kinds = model::history::columns(&rows[0].name);
        assert_eq!(kinds.len(), rows[0].numbers.len());
    }

    #[test]
    fn counters_that_begin_anew_are_not_negative() {
        assert_eq!(rows(&view(10, 5, 2), &view(1, 0, 1))[0].numbers[..3], [0, 0, 0]);
    }

    #[test]
    fn what_was_found_is_nobodys_and_what_was_made_is_ours() {
        assert_eq!(rows(&PacketPlaneView::default(), &view(4, 0, 2))[0].numbers[..3], [4, 0, 2]);
        let adopted = PacketPlaneView { is_adopted: true, ..view(4, 0, 2) };
        assert_eq!(rows(&PacketPlaneView::default(), &adopted), Vec::<MetricRow>::new());
    }
}
