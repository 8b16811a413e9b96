//! Fields of Envoy's messages that are reported rather than written, and their outcome.

use crate::note_kind::NoteKind;

/// Fields of a message with the same outcome.
pub struct FieldGroup {
    pub message: &'static str,
    pub fields: &'static [&'static str],
    pub kind: NoteKind,
    pub reason: &'static str,
    pub instead: &'static str,
}

/// The reason why settings of Envoy's own working are not needed.
pub const OWN: &str = "it names, counts or tunes something of Envoy itself";
/// The reason for settings of the TLS library.
pub const LIBRARY: &str = "versions, ciphers and sessions are those of the TLS library";
/// Where measurements are sent.
pub const TELEMETRY: &str = "`[global.telemetry]` and `[global] metrics`";
