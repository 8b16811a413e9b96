//! Command files of `dscontrol`: each command is carried out on a picture of clusters, ports, servers and rules, and
//! the picture is written at the end.

mod command;
mod config;
mod port_checks;
mod rule;
mod write;

use crate::document::Document;
use crate::notes::ConversionNotes;

use self::command::DispatcherCommand;
use self::config::DispatcherConfig;

/// Writes what `text` says into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let mut picture = DispatcherConfig::default();
    for (line, number) in text.lines().zip(1u32..) {
        if let Some(command) = DispatcherCommand::read(line, number, notes) {
            picture.apply(&command, notes);
        }
    }
    write::write_config(&picture, document, notes);
}
