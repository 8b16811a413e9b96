//! One line of logfmt → its parts.

use api::types::LogEntry;
use serde_json::{Map, Value};

/// Fields whose values are numbers in an entry.
const NUMBERS: [&str; 4] = ["status", "attempts", "bytes-to-client", "total-ms"];

/// The parts of a line; `None`: the line is none of logfmt.
pub fn parse_logfmt(line: &str) -> Option<LogEntry> {
    let mut entry = Map::new();
    let mut rest = line;
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        if name.is_empty() || name.contains(|char: char| char == '"' || char.is_whitespace()) {
            return None;
        }
        let length = value_length(after)?;
        let text = after.get(..length)?;
        // A quoted value is escaped as a text of JSON.
        let value = match text.starts_with('"') || NUMBERS.contains(&name) {
            true => serde_json::from_str(text).ok()?,
            false => Value::from(text),
        };
        entry.insert(name.to_owned(), value);
        rest = after.get(length..)?;
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    serde_json::from_value(Value::Object(entry)).ok()
}

/// How long the value is that the text begins with.
fn value_length(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return Some(text.find(' ').unwrap_or(text.len()));
    }
    let mut is_escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    end.map(|end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_parts_and_one_that_was_cut_is_none() {
        let line = "time=2026-11-21T21:41:01.042Z id=0040 service=shop client=192.0.2.7:4711 method=GET \
                    target=\"/a=\\\" b\" status=200 server=web/a attempts=1 reused=true bytes-to-client=7 total-ms=3.400";
        let entry = parse_logfmt(line).unwrap();
        assert_eq!(entry.target.as_deref(), Some("/a=\" b"));
        assert_eq!((entry.status, entry.bytes_to_client, entry.attempts), (200, 7, 1));
        assert_eq!(entry.total_ms, Some(3.4));
        assert_eq!(entry.server.as_deref(), Some("web/a"));
        for line in ["time", "a b=c", "target=\"cut", "status=x", "=1"] {
            assert_eq!(parse_logfmt(line), None, "{line}");
        }
    }
}
