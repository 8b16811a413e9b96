//! Judges `http2` of a service and of a pool: what contradicts.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;

/// Judge a service's or a pool's.
pub fn both(owner: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(http2) = owner.table("http2") else { return };
    let (first, most): (u64, u64) = (http2.number("window"), http2.number("window-most"));
    if most < first {
        let message = format!("`window-most` ({most} bytes) is less than `window` ({first} bytes)");
        let trouble = Trouble::new(message).expected("at least as many bytes as `window`");
        let key = if http2.wrote("window-most") { "window-most" } else { "window" };
        sink.error(http2.place_of(key), &format!("{path}.http2.{key}"), trouble);
    }
}
