//! Shared addresses as a table.

use api::types::{MemberStatus, Status};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::span;

/// This member of each group.
pub(super) fn members(status: &Status) -> TextTable {
    let mut table = TextTable::new(&[
        left("GROUP"),
        left("INTERFACE"),
        right("ID"),
        left("ADDRESSES"),
        right("PRIORITY"),
        left("HEARD"),
        left("STATE"),
    ]);
    for member in &status.vrrp {
        let MemberStatus { name, interface, id, addresses, state, reason, since_unix_ms, .. } =
            member;
        let shared: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let heard = member.active_peer.zip(member.active_peer_priority);
        let heard = heard.map_or_else(|| "nobody".to_owned(), |(ip, at)| format!("{ip} at {at}"));
        let age = span(status.now_unix_ms.saturating_sub(*since_unix_ms));
        let colour = match state.as_str() {
            "active" => Colour::Good,
            "standby" => Colour::Quiet,
            _ => Colour::Doubt,
        };
        table.row(vec![
            name.as_str().into(),
            interface.as_str().into(),
            id.to_string().into(),
            shared.join("\n").into(),
            member.priority.to_string().into(),
            heard.into(),
            TextCell::with_lead(state, colour, &format!(" {age}: {reason}")),
        ]);
    }
    table
}
