//! What services that forward packets add to a record of history. Pure: two views of the packet plane → rows.

use l4::counts::{Counts, Packets};
use model::history::Row;

use api::types::PacketEnd;

use crate::packets::view::{ServiceFlows, View};
use crate::report::packets::{end, of_service};

/// A row for each service that forwards packets, by name. A plane that was made since `old` began with nothing; of one that
/// was taken over since, what is there belongs to an earlier time.
pub fn rows(old: &View, new: &View) -> Vec<Row> {
    let nothing = Counts::default();
    let (was, is) = match (&old.now, &new.now) {
        (Some(was), Some(is)) => (&was.counts, &is.counts),
        (None, Some(is)) if !new.adopted => (&nothing, &is.counts),
        _ => return Vec::new(),
    };
    let row = |(name, flows): (&String, &ServiceFlows)| {
        let index = *new.services.get(name)?;
        let of = |counts: &Counts| numbers(counts, index, flows);
        let counted = of(was).into_iter().zip(of(is));
        // An index that was another service's counts on from there: less is none.
        let mut numbers: Vec<u64> = counted.map(|(was, is)| is.saturating_sub(was)).collect();
        numbers.extend([u64::from(flows.flows), u64::from(flows.half_open)]);
        Some(Row { name: format!("packets/{name}"), numbers })
    };
    new.flows.iter().filter_map(row).collect()
}

/// The counts of `model::history::PACKETS`, in their order.
fn numbers(counts: &Counts, index: u32, flows: &ServiceFlows) -> [u64; 5] {
    let outcomes = of_service(counts, index, flows);
    let dropped = outcomes.iter().filter(|(outcome, _)| end(**outcome) == PacketEnd::Dropped);
    let servers = || flows.indexes.iter().filter_map(|server| counts.servers.get(server));
    [
        outcomes.values().map(Packets::sum).sum(),
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
    use crate::packets::view::Sample;

    fn view(forwarded: u64, dropped: u64, flows: u64) -> View {
        let packets = |v4| Packets { v4, ..Packets::default() };
        let server = ServerCounts {
            outcomes: [(Outcome::Forwarded, packets(forwarded))].into(),
            bytes_in: 100 * forwarded,
            bytes_out: 7,
            flows,
            ..ServerCounts::default()
        };
        let mut counts = Counts::default();
        counts.servers.insert(4, server);
        counts.services.insert(2, [(Outcome::NoServer, packets(dropped))].into());
        let flows =
            ServiceFlows { flows: 9, half_open: 3, indexes: [4].into(), ..ServiceFlows::default() };
        View {
            flows: [("shop".to_owned(), flows)].into(),
            services: [("shop".to_owned(), 2)].into(),
            now: Some(Sample { at: Instant::now(), counts }),
            ..View::default()
        }
    }

    #[test]
    fn what_grew_and_what_stands() {
        let rows = rows(&view(10, 1, 2), &view(25, 4, 7));
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].name, "packets/shop");
        assert_eq!(rows[0].numbers, [18, 3, 5, 1_500, 0, 9, 3]);
        let kinds = model::history::kinds(&rows[0].name);
        assert_eq!(kinds.len(), rows[0].numbers.len());
    }

    #[test]
    fn counters_that_begin_anew_are_not_negative() {
        assert_eq!(rows(&view(10, 5, 2), &view(1, 0, 1))[0].numbers[..3], [0, 0, 0]);
    }

    #[test]
    fn what_was_found_is_nobodys_and_what_was_made_is_ours() {
        assert_eq!(rows(&View::default(), &view(4, 0, 2))[0].numbers[..3], [4, 0, 2]);
        let adopted = View { adopted: true, ..view(4, 0, 2) };
        assert_eq!(rows(&View::default(), &adopted), Vec::<Row>::new());
    }
}
