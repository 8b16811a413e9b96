//! Defaults of sticky sessions that depend on how clients are recognised.

use crate::config::section::ConfigSection;

/// Clears defaults that do not apply to this way of recognising clients.
pub fn fill_affinity_defaults(sticky: &mut ConfigSection) {
    let by = sticky.text("by").unwrap_or_default().to_owned();
    let stateless = by == "cookie" && sticky.text("cookie") != Some("learn");
    let foreign = |key: &&&str| if **key == "entries" { stateless } else { by != "address" };
    for key in ["mask4", "mask6", "entries"].iter().filter(foreign) {
        if !sticky.is_written(key) {
            sticky.clear(key);
        }
    }
}
