//! Shared addresses as lines, one a group. Pure.

use api::types::MemberStatus;

use crate::show::paint::Colour;
use crate::show::table::Align::{self, Left, Right};
use crate::show::unit::span;
use crate::top::sheet::{Field, Row, Sheet};
use crate::top::snapshot::Snapshot;

const COLUMNS: &[(&str, Align)] = &[
    ("GROUP", Left),
    ("STATE", Left),
    ("FOR", Right),
    ("PRIORITY", Right),
    ("INTERFACE", Left),
    ("ADDRESSES", Left),
    ("HEARD", Left),
    ("WHY", Left),
];

/// A line a group.
pub fn sheet(snapshot: &Snapshot) -> Sheet {
    let now = snapshot.status.now_unix_ms;
    let rows = snapshot.status.vrrp.iter().map(|member| line(member, now)).collect();
    Sheet { columns: COLUMNS, rows }
}

fn line(member: &MemberStatus, now_unix_ms: u64) -> Row {
    let colour = match member.state.as_str() {
        "active" => Colour::Good,
        "idle" => Colour::Doubt,
        _ => Colour::Quiet,
    };
    let age = now_unix_ms.saturating_sub(member.since_unix_ms);
    let addresses: Vec<String> = member.addresses.iter().map(ToString::to_string).collect();
    let heard = match (member.heard, member.heard_priority) {
        (Some(who), Some(priority)) => format!("{who} at {priority}"),
        (Some(who), None) => who.to_string(),
        (None, _) => "nobody".to_owned(),
    };
    let fields = vec![
        Field::text(&member.name),
        Field::coloured(&member.state, colour),
        Field::shown(span(age), age as f64),
        Field::count(member.priority),
        Field::text(&member.interface),
        Field::text(&addresses.join(", ")),
        Field::text(&heard),
        Field::text(&member.reason),
    ];
    Row { id: member.name.clone(), fields, server: None }
}
