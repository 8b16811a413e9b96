//! A pool with one disabled server, for services that answer every request themselves: each service needs a pool.

use crate::document::{Document, TomlTable};
use crate::names::UniqueNames;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

/// The reserved name of this pool.
pub const NAME: &str = "nowhere";

pub fn reserve_name() -> UniqueNames {
    let mut names = UniqueNames::default();
    names.unique_name(NAME);
    names
}

/// Adds the pool to the document, unless the document already has it.
pub fn ensure_pool(document: &mut Document) {
    let path = format!("pool.{NAME}");
    if document.find(&path).is_some() {
        return;
    }
    let mut pool = TomlTable::new(path, SourcePlace::NONE, "");
    push_disabled_server(&mut pool);
    document.push(pool);
}

/// Adds a server that gets nothing, for a pool without any other.
pub fn push_disabled_server(pool: &mut TomlTable) {
    let server = [
        KeyValue::new("address", value::quote("127.0.0.1:9")),
        KeyValue::new("state", value::quote("disabled")),
    ];
    pool.push_item("servers", value::table(&server), SourcePlace::NONE);
}
