//! Directives of error pages, and locations whose file is such a page.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

/// Directives that `error_pages` and `error_target` read, at any level.
pub const READ: [&str; 5] =
    ["error_page", "proxy_intercept_errors", "grpc_intercept_errors", "root", "alias"];

/// Reports a location without a server. `page_locations`: the locations whose file is an error page.
pub fn note_unserved(
    source: SourcePlace,
    text: &str,
    page_locations: &[SourcePlace],
    notes: &mut ConversionNotes,
) {
    if page_locations.contains(&source) {
        let reason = "its file is sent as an error page; clients that ask for it get 404";
        notes.changed(source, text, reason, "");
    } else {
        let reason = "no server is named, and files are not served: 404";
        notes.left_out(source, text, reason, "a web server as a pool");
    }
}
