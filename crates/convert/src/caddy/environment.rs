//! Placeholders of the environment, `{$NAME}` and `{$NAME:default}`, which Caddy replaces before it reads the file.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// The text with the defaults of its placeholders. A placeholder without a default makes the file unreadable.
pub fn fill_defaults(text: &str, notes: &mut ConversionNotes) -> String {
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let place = SourcePlace::at_line(u32::try_from(at + 1).unwrap_or(u32::MAX));
        let mut rest = line;
        while let Some(begin) = rest.find("{$") {
            out.push_str(&rest[..begin]);
            let Some(length) = rest[begin..].find('}') else { break };
            let name = &rest[begin + 2..begin + length];
            match name.split_once(':') {
                Some(parts) => {
                    let reason = "the environment is not known here: the default is used";
                    notes.changed(place, &rest[begin..=begin + length], reason, "");
                    out.push_str(parts.1);
                }
                None => notes.unreadable(
                    place,
                    &rest[begin..=begin + length],
                    "the environment is not known here, and there is no default",
                    "write its value in the file, or `{$NAME:default}`",
                ),
            }
            rest = &rest[begin + length + 1..];
        }
        out.push_str(rest);
    }
    out
}
