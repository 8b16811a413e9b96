//! Priorities of streams (RFC 9218): the `priority` field and the value of PRIORITY_UPDATE.

/// How urgent a response is, and whether its parts are useful before it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPriority {
    /// 0 is the most urgent, 7 the least.
    pub urgency: u8,
    /// The stream shares the connection with others of its urgency.
    pub incremental: bool,
}

/// The urgency without a signal (RFC 9218 §4.1).
const URGENCY: u8 = 3;

/// The number of levels of urgency (RFC 9218 §4.1).
pub(super) const URGENCIES: usize = 8;

impl Default for StreamPriority {
    /// Without any signal, streams share the connection: a client that knows no priorities expects that none waits for
    /// the end of another.
    fn default() -> StreamPriority {
        StreamPriority { urgency: URGENCY, incremental: true }
    }
}

impl StreamPriority {
    /// Reads a field value. Unknown and invalid members are ignored.
    pub fn parse(value: &[u8]) -> StreamPriority {
        let mut priority = StreamPriority { urgency: URGENCY, incremental: false };
        for member in value.split(|byte| *byte == b',') {
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default();
            match member.trim_ascii() {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.incremental = true,
                b"i=?0" => priority.incremental = false,
                _ => {}
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let rows: [(&str, u8, bool); 9] = [
            ("", 3, false),
            ("u=0", 0, false),
            ("u=7, i", 7, true),
            ("i;x=1,u=5;y", 5, true),
            ("i=?0", 3, false),
            ("i=?1", 3, true),
            ("u=8, i", 3, true),
            ("u=10", 3, false),
            ("u=1, u=2", 2, false),
        ];
        for (text, urgency, incremental) in rows {
            let priority = StreamPriority::parse(text.as_bytes());
            assert_eq!(priority, StreamPriority { urgency, incremental }, "{text}");
        }
    }
}
