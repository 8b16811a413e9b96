//! Builds an error page of the checked configuration from verified settings.

use std::path::PathBuf;

use super::types::{ErrorPageConfig, ErrorPageContent};
use crate::config::section::ConfigSection;
use crate::config::status_ranges::build_statuses;

pub fn build_error_page(section: &ConfigSection) -> ErrorPageConfig {
    let content_type = section.text("type").unwrap_or_default().to_owned();
    let content = match (section.text("file"), section.text("body")) {
        (Some(path), _) if section.text("format") == Some("http") => {
            ErrorPageContent::HttpFile(PathBuf::from(path))
        }
        (Some(path), _) => ErrorPageContent::File { path: PathBuf::from(path), content_type },
        (None, Some(body)) => ErrorPageContent::Text { body: body.to_owned(), content_type },
        (None, None) => ErrorPageContent::Empty,
    };
    ErrorPageConfig {
        status: build_statuses(section, "status"),
        content,
        headers: section.texts("headers").to_vec(),
        client_status: section.count("as"),
        intercept: section.flag("intercept"),
    }
}
