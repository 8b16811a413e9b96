//! The checked configuration of error pages.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::config::status_ranges::StatusRanges;

/// A page in the place of the balancer's own text, or of a server's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ErrorPageConfig {
    /// The statuses that the page is for, 400 to 599.
    pub status: StatusRanges,
    pub content: ErrorPageContent,
    /// Fields of the page, each `name: value`.
    pub headers: Vec<String>,
    /// The status that the client gets, 200 to 599; `None`: that of the file's head, else that of the error.
    #[serde(rename = "as")]
    pub client_status: Option<u16>,
    /// Whether the page also replaces answers of servers with such a status.
    pub intercept: bool,
}

/// Where the body of a page comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorPageContent {
    /// The page has fields alone.
    Empty,
    /// A text of the configuration.
    Text { body: String, content_type: String },
    /// A file that is the body.
    File { path: PathBuf, content_type: String },
    /// A file with a status line, fields and a body.
    HttpFile(PathBuf),
}

impl ErrorPageConfig {
    /// The file that the daemon reads, if there is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.content {
            ErrorPageContent::File { path, .. } | ErrorPageContent::HttpFile(path) => Some(path),
            ErrorPageContent::Empty | ErrorPageContent::Text { .. } => None,
        }
    }
}
