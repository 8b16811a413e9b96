//! The field with the client's address: written into the head for the server, after rules have changed that.
//!
//! It only copies lines that the codec wrote, so no value can end a line.

use std::io::Write;
use std::net::IpAddr;

use model::config::{ClientField, ClientFieldMode};
use model::request_head::same_name;

/// Writes `message`, which begins with a head, with the field. The request line stays as it is.
pub fn write_client_field(message: &[u8], field: &ClientField, client: IpAddr, out: &mut Vec<u8>) {
    let client = client.to_canonical();
    let mut at = line_end(message, 0);
    out.extend_from_slice(message.get(..at).unwrap_or_default());
    // Where the value of the last line of the name ends, and whether there is a value.
    let mut last = None;
    while let Some(line) = message.get(at..line_end(message, at)).filter(|line| line.len() > 2) {
        at += line.len();
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        if field.mode == ClientFieldMode::Set && same_name(name, field.name.as_bytes()) {
            continue;
        }
        if name.eq_ignore_ascii_case(field.name.as_bytes()) {
            let value = value.trim_ascii_end();
            last = Some((out.len() + colon + value.len(), value.len() > 1));
        }
        out.extend_from_slice(line);
    }
    // Writing into a Vec cannot fail.
    match (field.mode, last) {
        (ClientFieldMode::IfAbsent, Some(_)) => {}
        (ClientFieldMode::List, Some((end, has_value))) => {
            let behind = out.split_off(end);
            let _ = write!(out, "{}{client}", if has_value { ", " } else { " " });
            out.extend_from_slice(&behind);
        }
        _ => {
            let _ = write!(out, "{}: {client}\r\n", field.name);
        }
    }
    out.extend_from_slice(message.get(at..).unwrap_or_default());
}

/// Where the line that begins at `at` ends.
fn line_end(message: &[u8], at: usize) -> usize {
    let rest = message.get(at..).unwrap_or_default();
    rest.iter().position(|byte| *byte == b'\n').map_or(message.len(), |end| at + end + 1)
}

#[cfg(test)]
mod tests {
    use model::config::NetworkSet;

    use super::*;

    fn written(lines: &str, mode: ClientFieldMode, client: &str) -> String {
        let field = ClientField { name: "X-Ip".to_owned(), mode, except: NetworkSet::default() };
        let message = format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\nX-Ip: body\r\n");
        let mut out = Vec::new();
        let client = client.parse().unwrap_or(IpAddr::from([0, 0, 0, 0]));
        write_client_field(message.as_bytes(), &field, client, &mut out);
        let text = String::from_utf8(out).unwrap_or_default();
        let lines = text.strip_prefix("GET / HTTP/1.1\r\nHost: a\r\n").unwrap_or_default();
        lines.strip_suffix("\r\nX-Ip: body\r\n").unwrap_or_default().to_owned()
    }

    #[test]
    fn each_mode_treats_what_is_there_in_its_way() {
        use ClientFieldMode::{Add, IfAbsent, List, Set};
        let ours = "X-Ip: 192.0.2.7\r\n";
        for (lines, mode, expected) in [
            ("", Add, ours.to_owned()),
            ("", List, ours.to_owned()),
            ("", Set, ours.to_owned()),
            ("", IfAbsent, ours.to_owned()),
            ("x-ip: 1\r\nB: 2\r\n", Add, format!("x-ip: 1\r\nB: 2\r\n{ours}")),
            ("x-ip: 1\r\nB: 2\r\n", Set, format!("B: 2\r\n{ours}")),
            ("x-ip: 1\r\nB: 2\r\n", IfAbsent, "x-ip: 1\r\nB: 2\r\n".to_owned()),
            ("x-ip: 1\r\nB: 2\r\n", List, "x-ip: 1, 192.0.2.7\r\nB: 2\r\n".to_owned()),
            ("X-IP: 1\r\nx-ip:2 \r\n", List, "X-IP: 1\r\nx-ip:2, 192.0.2.7 \r\n".to_owned()),
            ("x-ip: \r\n", List, "x-ip: 192.0.2.7 \r\n".to_owned()),
            ("x-ip:\r\n", List, "x-ip: 192.0.2.7\r\n".to_owned()),
            ("x-ip:\r\n", IfAbsent, "x-ip:\r\n".to_owned()),
            // Another spelling may be the same name to a server.
            ("X_Ip: 1\r\nx.ip: 2\r\n", Set, ours.to_owned()),
            ("X_Ip: 1\r\n", IfAbsent, format!("X_Ip: 1\r\n{ours}")),
            ("X-Ip2: 1\r\nX-I: 1\r\n", Set, format!("X-Ip2: 1\r\nX-I: 1\r\n{ours}")),
        ] {
            assert_eq!(written(lines, mode, "192.0.2.7"), expected, "{lines:?} {mode:?}");
        }
        assert_eq!(written("", Set, "::ffff:192.0.2.7"), ours);
        assert_eq!(written("", Set, "2001:db8::1"), "X-Ip: 2001:db8::1\r\n");
    }
}
