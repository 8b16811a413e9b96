//! What a service does with field names of unusual characters.

mod keys;
mod types;

pub(super) use keys::FIELD_NAMES;
pub use types::FieldNamePolicy;
