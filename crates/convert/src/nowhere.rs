//! A pool for services that only answer by themselves: each service needs one.

use crate::document::{Document, Table};
use crate::names::Names;
use crate::value;

/// Its name, which nothing else may take.
pub const NAME: &str = "nowhere";

/// Keeps the name.
pub fn reserved() -> Names {
    let mut names = Names::default();
    names.give(NAME);
    names
}

/// Writes it, unless it stands there already.
pub fn ensure(document: &mut Document) {
    let path = format!("pool.{NAME}");
    if document.find(&path).is_some() {
        return;
    }
    let mut pool = Table::new(path, 0, "");
    let server = [("address", value::text("127.0.0.1:9")), ("state", value::text("disabled"))];
    pool.item("servers", value::table(&server), 0);
    document.push(pool);
}
