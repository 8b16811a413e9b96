//! A line of the access log as a message of syslog (RFC 5424). Pure.

use std::time::{SystemTime, UNIX_EPOCH};

use model::calendar::CivilDateTime;

/// Facility `local0` and severity `informational` (RFC 5424 §6.2.1): 16 · 8 + 6.
const PRIORITY: u32 = 134;
/// Most bytes of a host's name (RFC 5424 §6).
const HOST_MAX: usize = 255;

/// What all messages of this process have.
#[derive(Debug)]
pub(super) struct SyslogOrigin {
    /// From the host to the structured data, which there is none of.
    fields: String,
}

impl SyslogOrigin {
    /// For this host and process. A name that no message may have is left out.
    pub(super) fn new(host: &str, process: u32) -> SyslogOrigin {
        let fits =
            (1..=HOST_MAX).contains(&host.len()) && host.bytes().all(|b| b.is_ascii_graphic());
        let host = if fits { host } else { "-" };
        SyslogOrigin { fields: format!("{host} steelyard {process} access -") }
    }

    /// A line, without its line end, that is sent at this time.
    pub(super) fn message(&self, line: &[u8], at: SystemTime) -> Vec<u8> {
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        let second = CivilDateTime::from_unix_seconds(i64::try_from(since.as_secs()).unwrap_or(0));
        let second = second.to_string().replace(' ', "T");
        let millis = since.subsec_millis();
        let head = format!("<{PRIORITY}>1 {second}.{millis:03}Z {} ", self.fields);
        [head.as_bytes(), line].concat()
    }
}

/// A message with its length before it, for a stream (RFC 6587 §3.4.1).
pub(super) fn counted(message: &[u8]) -> Vec<u8> {
    [message.len().to_string().as_bytes(), b" ", message].concat()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_message_has_its_origin_and_the_line_as_it_is() {
        let at = UNIX_EPOCH + Duration::from_millis(1_795_297_261_042);
        let message = SyslogOrigin::new("edge.example", 7).message(b"{\"a\":\"\xc3\xbc\"}", at);
        assert_eq!(
            String::from_utf8(message.clone()).unwrap(),
            "<134>1 2026-11-21T21:41:01.042Z edge.example steelyard 7 access - {\"a\":\"ü\"}"
        );
        assert!(counted(&message).starts_with(b"76 <134>1 "), "{}", message.len());
        for host in ["", "a b", "gr\u{fc}n", &"a".repeat(256)] {
            let message = SyslogOrigin::new(host, 7).message(b"x", at);
            assert!(message.ends_with(b"Z - steelyard 7 access - x"), "{host}");
        }
    }
}
