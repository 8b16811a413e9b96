//! One line of the Common Event Format → its parts.

use api::types::LogEntry;

/// The pipes that end the parts of the head, the first of which begins with `CEF:`.
const HEAD_PARTS: usize = 7;

/// The parts of a line; `None`: the line is none of CEF, or was cut.
pub fn parse_cef(line: &str) -> Option<LogEntry> {
    let extension = line.splitn(HEAD_PARTS + 1, '|').nth(HEAD_PARTS)?;
    let mut entry = LogEntry::default();
    for (key, value) in extension_values(extension) {
        let known = || Some(value.clone());
        match key {
            "rt" => entry.time = value,
            "src" | "c6a2" => entry.client = value,
            "app" => entry.protocol = known(),
            "requestMethod" => entry.method = known(),
            "request" => entry.target = known(),
            "outcome" => entry.status = value.parse().ok()?,
            "reason" => entry.cause = known(),
            "out" => entry.bytes_to_client = value.parse().ok()?,
            "externalId" => entry.id = known(),
            "cs1" => entry.service = value,
            "cs2" => entry.server = known(),
            "cs3" => entry.defect = known(),
            "cs4" => entry.request_id = known(),
            "cn1" => entry.total_ms = value.parse().ok(),
            "cn2" => entry.attempts = value.parse().ok()?,
            _ => {}
        }
    }
    Some(entry)
}

/// Keys and values of an extension. A value ends before the last blank in front of the next `=` that no backslash escapes.
fn extension_values(extension: &str) -> Vec<(&str, String)> {
    let mut starts = Vec::new();
    let mut is_escaped = false;
    for (at, byte) in extension.bytes().enumerate() {
        if byte == b'=' && !is_escaped {
            starts.push(at);
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    let key_begins = |equals: usize| extension[..equals].rfind(' ').map_or(0, |blank| blank + 1);
    let values = starts.iter().enumerate().map(|(at, equals)| {
        let end = starts.get(at + 1).map_or(extension.len(), |next| key_begins(*next));
        let value = extension.get(equals + 1..end).unwrap_or_default();
        (&extension[key_begins(*equals)..*equals], unescape(value.trim_end()))
    });
    values.collect()
}

fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(char) = chars.next() {
        text.push(match char {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('r') => '\r',
                Some(escaped) => escaped,
                None => break,
            },
            other => other,
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_parts_and_one_that_was_cut_is_none() {
        let line = "CEF:0|Steelyard|Steelyard|0.1.0|200|request completed|1|rt=Nov 21 2026 21:41:01.042 UTC src=192.0.2.7 \
                    spt=4711 app=HTTP/1.1 requestMethod=GET request=/a b\\=c\\\\ outcome=200 in=80 out=7 \
                    cs1Label=service cs1=shop cs2Label=server cs2=web/a cn1Label=total-ms cn1=3 \
                    cn2Label=attempts cn2=1";
        let entry = parse_cef(line).unwrap();
        assert_eq!(entry.time, "Nov 21 2026 21:41:01.042 UTC");
        assert_eq!(entry.target.as_deref(), Some("/a b=c\\"));
        assert_eq!((entry.status, entry.bytes_to_client, entry.attempts), (200, 7, 1));
        assert_eq!((entry.service.as_str(), entry.client.as_str()), ("shop", "192.0.2.7"));
        assert_eq!((entry.server.as_deref(), entry.total_ms), (Some("web/a"), Some(3.0)));
        for line in ["CEF:0|Steelyard", "", "a|b|c|d|e|f|g|outcome=x"] {
            assert_eq!(parse_cef(line), None, "{line}");
        }
    }
}
