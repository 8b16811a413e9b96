//! Judges `buffer` of a service: what it says of bodies that are not kept, and bodies that its memory cannot hold.

use super::super::finding::{Sink, Trouble};
use super::super::section::Section;
use super::super::unit::Size;
use super::method::set_here;

/// Judge a service's.
pub fn verify(service: &Section, path: &str, sink: &mut Sink<'_, '_>) {
    let Some(buffer) = service.table("buffer") else { return };
    let path = format!("{path}.buffer");
    let (request, response) = (buffer.count::<u64>("request"), buffer.count::<u64>("response"));
    if buffer.text("beyond") == Some("refuse") && request.is_none() && !buffer.broken("request") {
        let message = "nothing is refused: without `request` no body is read before a server is chosen, however long it is";
        let trouble = Trouble::new(message).expected("`request = \"1MiB\"` beside it");
        sink.error(buffer.place_of("beyond"), &format!("{path}.beyond"), trouble);
    }
    let memory: u64 = buffer.number("memory");
    for (key, size) in [("request", request), ("response", response)] {
        let Some(size) = size.filter(|size| *size > memory && !buffer.broken("memory")) else {
            continue;
        };
        let message = format!(
            "a body of {} is never kept: `memory` of all bodies together is {}",
            Size(size),
            Size(memory)
        );
        let expected = format!("at most {}, or a larger `memory`", Size(memory));
        let trouble = Trouble::new(message).expected(expected);
        sink.warning(buffer.place_of(key), &format!("{path}.{key}"), trouble);
    }
    if request.is_none() && response.is_none() && set_here(buffer, "").any(|key| key == "memory") {
        let message = "`memory` has no effect: neither `request` nor `response` keeps a body";
        sink.warning(buffer.place_of("memory"), &format!("{path}.memory"), Trouble::new(message));
    }
}
