//! The table of a rule of a service, with its condition.

use crate::condition::RuleCondition;
use crate::document::TomlTable;
use crate::source::SourcePlace;

/// A rule of the service with this name. `text`: the directive it comes from.
pub fn begin(service: &str, when: &RuleCondition, source: SourcePlace, text: &str) -> TomlTable {
    let mut table = TomlTable::one_of(format!("service.{service}.rule"), source, text);
    if let Some(when) = when.to_when() {
        table.set("when", when, SourcePlace::NONE);
    }
    table
}
