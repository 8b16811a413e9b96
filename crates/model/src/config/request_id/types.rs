//! The checked configuration of request ids. It makes none.

use serde::Serialize;

/// The field with the id of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestIdConfig {
    /// Its name, as it is written.
    pub header: String,
    /// Whether answers have it too.
    pub answer: bool,
}
