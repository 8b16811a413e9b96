//! How things stand with the packet plane, as text. Pure.

use api::types::{FlowSampleStatus, Neighbour, PacketInterface, PacketsStatus};

use crate::show::paint::{Colour, Paint};
use crate::show::plain::plain;
use crate::show::table::{TextCell, TextTable, left};
use crate::show::unit::{bytes, count};

/// One line about the whole.
pub fn head(status: &PacketsStatus, paint: Paint) -> String {
    let connections = if status.restored { "taken over with its connections" } else { "new" };
    let plane = format!("packet plane: {connections}, tables of {}", bytes(status.memory_bytes));
    match &status.problem {
        None => format!("{plane}\n{}\n", flow_samples(&status.flow_samples)),
        Some(why) => {
            let word = paint.text(Colour::Bad, "nothing is forwarded:");
            format!("packet plane: {word} {}\n", plain(why))
        }
    }
}

/// The state of flow samples.
fn flow_samples(samples: &FlowSampleStatus) -> String {
    let Some(sample) = samples.one_in else { return "flow samples: off".to_owned() };
    let missed = samples.full + samples.evicted + samples.unread;
    let missed = if missed > 0 { format!(", {} missed", count(missed)) } else { String::new() };
    let watched = count(samples.watched as u64);
    let sample = count(u64::from(sample));
    format!("flow samples: {watched} connections watched, 1 in {sample}{missed}")
}

/// The interfaces that packets are taken from.
pub fn interfaces(status: &PacketsStatus) -> TextTable {
    let mut table = TextTable::new(&[left("PACKETS AT"), left("MODE")]);
    for PacketInterface { name, mode, problem } in &status.interfaces {
        let state = match (mode, problem) {
            (Some(mode), None) => mode.as_str().into(),
            (Some(mode), Some(why)) => {
                let colour = if mode == "native" { Colour::Bad } else { Colour::Doubt };
                TextCell::with_lead(mode, colour, &format!(": {why}"))
            }
            (None, Some(problem)) => {
                TextCell::with_lead("none", Colour::Bad, &format!(": {problem}"))
            }
            (None, None) => TextCell::coloured("none", Colour::Bad),
        };
        table.row(vec![name.as_str().into(), state]);
    }
    table
}

/// Next hops of servers.
pub fn neighbours(status: &PacketsStatus) -> TextTable {
    let mut table = TextTable::new(&[left("NEXT HOP OF"), left("SERVERS"), left("STATE")]);
    for Neighbour { address, state, reason, servers } in &status.neighbours {
        let colour = match state.as_str() {
            "ok" | "local" => Colour::Good,
            "trying" => Colour::Doubt,
            _ => Colour::Bad,
        };
        let why = reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        table.row(vec![
            address.to_string().into(),
            servers.join("\n").into(),
            TextCell::with_lead(state, colour, &why),
        ]);
    }
    table
}
