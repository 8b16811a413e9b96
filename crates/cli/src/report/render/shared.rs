//! Counters of members that share addresses, and their last changes, as tables.

use std::collections::BTreeMap;

use api::types::{MemberReport, PeerReport, ReplicationStatus};

use crate::show::table::{TextTable, left, right};
use crate::show::unit::{count, span};

/// Changes of each group that are shown; `--json` has all stored ones.
const CHANGES: usize = 5;

/// Advertisements, announcements and changes of each group; zero counts are left out.
pub(super) fn members(members: &[MemberReport]) -> TextTable {
    let mut table = TextTable::new(&[left("SHARED BY GROUP"), right("TOTAL")]);
    for MemberReport { group, counts, dropped, .. } in members {
        table.row(vec![group.as_str().into(), "".into()]);
        rows(&mut table, "", counts);
        rows(&mut table, "dropped: ", dropped);
    }
    table
}

/// The last changes of each group, newest first.
pub(super) fn changes(members: &[MemberReport], now_unix_ms: u64) -> TextTable {
    let mut table =
        TextTable::new(&[left("CHANGES OF"), right("AGO"), left("TO"), left("BECAUSE")]);
    for MemberReport { group, changes, .. } in members {
        for change in changes.iter().rev().take(CHANGES) {
            table.row(vec![
                group.as_str().into(),
                span(now_unix_ms.saturating_sub(change.at_unix_ms)).into(),
                change.state.as_str().into(),
                change.reason.as_str().into(),
            ]);
        }
    }
    table
}

/// Heartbeats and records with each other member; zero counts are left out.
pub(super) fn peers(peers: &[PeerReport]) -> TextTable {
    let mut table = TextTable::new(&[left("EXCHANGED WITH"), right("TOTAL")]);
    for PeerReport { peer, heartbeats, refused, replication } in peers {
        table.row(vec![peer.as_str().into(), "".into()]);
        rows(&mut table, "heartbeats: ", heartbeats);
        rows(&mut table, "refused: ", refused);
        let Some(ReplicationStatus { counts, refused, rejected, unsent, .. }) = replication else {
            continue;
        };
        rows(&mut table, "records: ", counts);
        rows(&mut table, "records refused: ", refused);
        rows(&mut table, "records not applied: ", rejected);
        rows(&mut table, "records not sent: ", unsent);
    }
    table
}

fn rows(table: &mut TextTable, of: &str, counts: &BTreeMap<String, u64>) {
    for (label, total) in counts.iter().filter(|(_, total)| **total > 0) {
        table.row(vec![format!("  {of}{label}").into(), count(*total).into()]);
    }
}
