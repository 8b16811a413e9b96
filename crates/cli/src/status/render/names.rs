//! Names and where they are answered, as tables.

use api::types::{NameListener, NameStatus, NamesStatus};

use crate::show::paint::Colour;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::count;

/// Where queries are answered.
pub(super) fn listeners(names: &NamesStatus) -> TextTable {
    let mut table = TextTable::new(&[left("NAMES AT"), left("STATE")]);
    for NameListener { address, problem } in &names.listen {
        let state = match problem {
            None => TextCell::with_lead("answering", Colour::Good, ""),
            Some(why) => TextCell::with_lead("down", Colour::Bad, &format!(": {why}")),
        };
        table.row(vec![address.to_string().into(), state]);
    }
    table
}

/// How each name stands.
pub(super) fn names(names: &NamesStatus) -> TextTable {
    let mut table = TextTable::new(&[
        left("NAME"),
        left("POLICY"),
        right("TTL"),
        right("ANSWERS"),
        left("STATE"),
    ]);
    for NameStatus {
        name,
        policy,
        ttl_seconds,
        up,
        candidates,
        fallback: fallen,
        responses: answers,
        ..
    } in &names.names
    {
        let text = format!(": {up} of {candidates} may be given");
        let state = match (fallen, up == candidates) {
            (true, _) => TextCell::with_lead("fallback", Colour::Bad, &text),
            (false, true) => TextCell::with_lead("up", Colour::Good, &text),
            (false, false) => TextCell::with_lead("degraded", Colour::Doubt, &text),
        };
        table.row(vec![
            name.as_str().into(),
            policy.as_str().into(),
            format!("{ttl_seconds} s").into(),
            count(*answers).into(),
            state,
        ]);
    }
    table
}
