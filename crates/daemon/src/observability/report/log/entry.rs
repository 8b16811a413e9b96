//! One line of the access log in any form → its parts.

use api::types::LogEntry;

use super::cef::parse_cef;
use super::logfmt::parse_logfmt;

/// The parts of a line; `None`: the line is in no form, as one that was cut.
pub fn parse(line: &[u8]) -> Option<LogEntry> {
    let line = std::str::from_utf8(line).ok()?;
    if line.starts_with("CEF:") {
        parse_cef(line)
    } else if line.starts_with('{') {
        serde_json::from_str(line).ok()
    } else if line.contains(" - - [") {
        parse_common(line).or_else(|| parse_logfmt(line))
    } else {
        parse_logfmt(line)
    }
}

/// The address of a client, without the port.
pub fn client_address(client: &str) -> &str {
    match client.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => match client.split_once(':') {
            // An address of IPv6 without a port has several colons.
            Some((address, port)) if !port.contains(':') => address,
            _ => client,
        },
    }
}

/// `client - - [time] "request" status bytes id service server cause attempts times`, or the combined log format, where
/// `"referer" "user-agent"` follow the bytes.
fn parse_common(line: &str) -> Option<LogEntry> {
    let (client, rest) = line.split_once(" - - [")?;
    let (time, rest) = rest.split_once("] \"")?;
    let end = closing_quote(rest)?;
    let request = rest.get(..end)?;
    let mut words = rest.get(end + 1..)?.split_ascii_whitespace();
    let status = words.next()?;
    let bytes_to_client = words.next()?.parse().ok()?;
    let rest_begins = words.next()?;
    if rest_begins.starts_with('"') {
        let mut entry = LogEntry {
            time: time.to_owned(),
            client: client.to_owned(),
            status: status.parse().unwrap_or_default(),
            bytes_to_client,
            ..LogEntry::default()
        };
        fill_request_line(&mut entry, request);
        return Some(entry);
    }
    let id = known(rest_begins);
    let service = words.next()?.to_owned();
    let server = known(words.next()?);
    let ending = known(words.next()?);
    let attempts = words.next()?.parse().ok()?;
    let total = words.next()?.rsplit('/').next()?;
    let request_id = words.find_map(|word| word.strip_prefix("request-id=\"")?.strip_suffix('"'));
    let mut ending = ending.as_deref().unwrap_or_default().split(':');
    let mut part = || ending.next().filter(|part| !part.is_empty()).map(str::to_owned);
    let cause = part();
    let defect = part();
    let mut entry = LogEntry {
        time: time.to_owned(),
        id,
        request_id: request_id.map(str::to_owned),
        service,
        client: client.to_owned(),
        status: if status == "-" { 0 } else { status.parse().ok()? },
        server,
        attempts,
        cause,
        defect,
        bytes_to_client,
        total_ms: total.parse().ok(),
        ..LogEntry::default()
    };
    fill_request_line(&mut entry, request);
    Some(entry)
}

/// A line without a method is the target alone.
fn fill_request_line(entry: &mut LogEntry, request: &str) {
    let words: Vec<&str> = request.split(' ').collect();
    match words.as_slice() {
        ["-"] => {}
        [method, target, protocol] => {
            entry.method = Some((*method).to_owned());
            entry.target = Some((*target).to_owned());
            entry.protocol = Some((*protocol).to_owned());
        }
        _ => entry.target = Some(request.to_owned()),
    }
}

fn known(word: &str) -> Option<String> {
    (word != "-").then(|| word.to_owned())
}

/// Where the quoted text ends; a quote in it follows a backslash.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })
}
