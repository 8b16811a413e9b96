//! From settings in force to what `buffer` means. Everything was judged before.

use super::super::buffer::{Beyond, Buffer};
use super::super::section::Section;

/// A service's.
pub fn buffer(section: &Section) -> Buffer {
    Buffer {
        request: section.count("request"),
        beyond: match section.text("beyond") {
            Some("refuse") => Beyond::Refuse,
            _ => Beyond::Stream,
        },
        response: section.count("response"),
        memory: section.number("memory"),
    }
}
