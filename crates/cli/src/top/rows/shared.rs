//! Shared addresses as lines, one a group. Pure.

use api::types::MemberStatus;

use crate::show::paint::Colour;
use crate::show::table::{TableColumn, left, right};
use crate::show::unit::span;
use crate::top::sheet::{Sheet, SheetCell, SheetRow};
use crate::top::snapshot::TopSnapshot;

const COLUMNS: &[TableColumn] = &[
    left("GROUP"),
    left("STATE"),
    right("FOR"),
    right("PRIORITY"),
    left("INTERFACE"),
    left("ADDRESSES"),
    left("HEARD"),
    left("WHY"),
];

/// A line a group.
pub fn sheet(snapshot: &TopSnapshot) -> Sheet {
    let now = snapshot.status.now_unix_ms;
    let rows = snapshot.status.vrrp.iter().map(|member| group_row(member, now)).collect();
    Sheet { columns: COLUMNS, rows }
}

fn group_row(member: &MemberStatus, now_unix_ms: u64) -> SheetRow {
    let colour = match member.state.as_str() {
        "active" => Colour::Good,
        "idle" => Colour::Doubt,
        _ => Colour::Quiet,
    };
    let age = now_unix_ms.saturating_sub(member.since_unix_ms);
    let addresses: Vec<String> = member.addresses.iter().map(ToString::to_string).collect();
    let heard = match (member.active_peer, member.active_peer_priority) {
        (Some(who), Some(priority)) => format!("{who} at {priority}"),
        (Some(who), None) => who.to_string(),
        (None, _) => "nobody".to_owned(),
    };
    let fields = vec![
        SheetCell::text(&member.name),
        SheetCell::coloured(&member.state, colour),
        SheetCell::number_as(span(age), age as f64),
        SheetCell::count(member.priority),
        SheetCell::text(&member.interface),
        SheetCell::text(&addresses.join(", ")),
        SheetCell::text(&heard),
        SheetCell::text(&member.reason),
    ];
    SheetRow { id: member.name.clone(), fields, server: None }
}
