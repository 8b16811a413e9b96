//! What the original balancer is started with: its arguments, its environment and its files.

use std::net::SocketAddr;

/// A file with its text, at an absolute path in the private root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    pub path: String,
    pub text: String,
}

/// The start of the original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OriginalStart {
    /// The program's arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment, each with its value.
    pub environment: Vec<String>,
    pub files: Vec<PlacedFile>,
    /// Where it answers something else than 404 as soon as it has read its files.
    pub ready: Option<SocketAddr>,
}
