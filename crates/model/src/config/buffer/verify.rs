//! Verifies `buffer` of a service: keys without effect when no body is buffered, and bodies that exceed its memory.

use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unit::ByteSize;
use crate::config::unsupported_keys::written_keys;

pub fn verify_buffer(service: &ConfigSection, path: &str, sink: &mut FindingCollector<'_, '_>) {
    let Some(buffer) = service.table("buffer") else { return };
    let path = format!("{path}.buffer");
    let request = buffer.count::<u64>("request");
    let response = buffer.count::<u64>("response");
    if buffer.text("when-larger") == Some("refuse")
        && request.is_none()
        && !buffer.is_invalid("request")
    {
        let message = "nothing is refused: without `request` no body is read before a server is chosen, however long it is";
        let trouble = FindingDetails::new(message).with_expected("`request = \"1MiB\"` beside it");
        sink.error(buffer.span_of("when-larger"), &format!("{path}.when-larger"), trouble);
    }
    verify_buffer_memory(buffer, buffer, &path, sink);
    if request.is_none()
        && response.is_none()
        && !service.list("rule").iter().any(|rule| rule.setting("buffer").is_some())
        && written_keys(buffer, "").any(|key| key == "memory")
    {
        let message = "`memory` has no effect: neither `request` nor `response` keeps a body";
        sink.warning(
            buffer.span_of("memory"),
            &format!("{path}.memory"),
            FindingDetails::new(message),
        );
    }
}

/// Warns of bodies in `buffer` that exceed the `memory` of the service's `outer`.
pub fn verify_buffer_memory(
    buffer: &ConfigSection,
    outer: &ConfigSection,
    path: &str,
    sink: &mut FindingCollector<'_, '_>,
) {
    let memory: u64 = outer.count_or_zero("memory");
    for key in ["request", "response"] {
        let size = buffer.count::<u64>(key);
        let Some(size) = size.filter(|size| *size > memory && !outer.is_invalid("memory")) else {
            continue;
        };
        let message = format!(
            "a body of {} is never kept: `memory` of all bodies together is {}",
            ByteSize(size),
            ByteSize(memory)
        );
        let expected = format!("at most {}, or a larger `memory`", ByteSize(memory));
        let trouble = FindingDetails::new(message).with_expected(expected);
        sink.warning(buffer.span_of(key), &format!("{path}.{key}"), trouble);
    }
}
