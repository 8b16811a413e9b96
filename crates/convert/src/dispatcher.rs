//! Command files of `dscontrol`: each command is carried out on a picture of clusters, ports, servers and rules, and
//! the picture is written at the end.

mod command;
mod judged;
mod picture;
mod rule;
mod write;

use crate::document::Document;
use crate::notes::Notes;

use self::command::Command;
use self::picture::Picture;

/// Writes what `text` says into `document`.
pub fn convert(text: &str, document: &mut Document, notes: &mut Notes) {
    let mut picture = Picture::default();
    for (line, number) in text.lines().zip(1u32..) {
        if let Some(command) = Command::read(line, number, notes) {
            picture.carry_out(&command, notes);
        }
    }
    write::write(&picture, document, notes);
}
