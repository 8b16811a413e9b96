//! Command files of `dscontrol`: each command is applied to a model of clusters, ports, servers and rules. The model is
//! written at the end.

mod command;
mod config;
mod named_objects;
mod port_checks;
mod rule;
mod write;

use crate::document::Document;
use crate::notes::ConversionNotes;

use self::command::DispatcherCommand;
use self::config::DispatcherConfig;

/// Converts `text` into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut ConversionNotes) {
    let mut picture = DispatcherConfig::default();
    for (line, number) in text.lines().zip(1u32..) {
        if let Some(command) = DispatcherCommand::read(line, number, notes) {
            picture.apply(&command, notes);
        }
    }
    write::write_config(&picture, document, notes);
}
