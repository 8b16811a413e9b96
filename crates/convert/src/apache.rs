//! Apache httpd: virtual hosts become services, `ProxyPass` becomes rules, balancers become pools.

use crate::document::Document;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// Converts `text` into `document`.
pub fn convert(_text: &str, _document: &mut Document, notes: &mut ConversionNotes) {
    notes.left_out(SourcePlace::NONE, "the whole file", "it is not read yet", "write it by hand");
}

/// How much a line looks like this dialect.
pub fn score_line(_line: &str) -> u32 {
    0
}
