//! Names of requests in protocols that take turns: MySQL, PostgreSQL, Redis, DNS over TCP, SMTP.
//!
//! Only the beginning of a packet is looked at, so a request that begins within one has no name. Turns themselves need
//! no decoding. Values and texts of queries are not repeated, only their commands and names of DNS.

use crate::bytes::u16_at;

/// A protocol whose client and server take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnProtocol {
    MySql,
    Postgres,
    Redis,
    Dns,
    Smtp,
}

/// The longest name of a request: bounds the memory.
const MAX_NAME: usize = 80;
/// Requests of PostgreSQL before the first message with a type: protocol 3, TLS, GSS and cancelling.
const STARTS: [(u32, &str); 4] = [
    (196_608, "start"),
    (80_877_103, "start TLS"),
    (80_877_104, "start GSS"),
    (80_877_102, "cancel"),
];
/// Types of PostgreSQL's messages from the client (PostgreSQL 17, 53.7).
const POSTGRES: [(u8, &str); 12] = [
    (b'Q', "Query"),
    (b'P', "Parse"),
    (b'B', "Bind"),
    (b'E', "Execute"),
    (b'D', "Describe"),
    (b'S', "Sync"),
    (b'C', "Close"),
    (b'H', "Flush"),
    (b'F', "Function"),
    (b'p', "password"),
    (b'd', "copy data"),
    (b'X', "Terminate"),
];
/// Commands of MySQL by number (Client/Server Protocol, Command Phase).
const MYSQL: [(u8, &str); 10] = [
    (1, "Quit"),
    (2, "Init DB"),
    (3, "Query"),
    (4, "Field List"),
    (9, "Statistics"),
    (14, "Ping"),
    (22, "Prepare"),
    (23, "Execute"),
    (25, "Close"),
    (31, "Reset Connection"),
];
/// Types of records (RFC 1035, 3.2.2, and the registry of DNS parameters).
const RECORDS: [(u16, &str); 14] = [
    (1, "A"),
    (2, "NS"),
    (5, "CNAME"),
    (6, "SOA"),
    (12, "PTR"),
    (15, "MX"),
    (16, "TXT"),
    (28, "AAAA"),
    (33, "SRV"),
    (43, "DS"),
    (48, "DNSKEY"),
    (65, "HTTPS"),
    (252, "AXFR"),
    (255, "ANY"),
];
/// Commands of SMTP (RFC 5321, 4.1.1, and its extensions).
const SMTP: [&str; 12] = [
    "EHLO", "HELO", "MAIL", "RCPT", "DATA", "BDAT", "RSET", "NOOP", "QUIT", "VRFY", "AUTH",
    "STARTTLS",
];

impl TurnProtocol {
    /// As in reports.
    pub fn name(self) -> &'static str {
        match self {
            TurnProtocol::MySql => "mysql",
            TurnProtocol::Postgres => "postgresql",
            TurnProtocol::Redis => "redis",
            TurnProtocol::Dns => "dns",
            TurnProtocol::Smtp => "smtp",
        }
    }

    /// The protocol of a client's first bytes.
    pub fn of_client(payload: &[u8]) -> Option<TurnProtocol> {
        if start_of_postgres(payload).is_some() {
            Some(TurnProtocol::Postgres)
        } else if dns_name(payload).is_some() {
            Some(TurnProtocol::Dns)
        } else if redis_name(payload).is_some() {
            Some(TurnProtocol::Redis)
        } else {
            None
        }
    }

    /// The protocol of a server's greeting.
    pub fn of_server(payload: &[u8]) -> Option<TurnProtocol> {
        if is_mysql_greeting(payload) {
            return Some(TurnProtocol::MySql);
        }
        let line = payload.split(|byte| *byte == b'\r').next()?;
        let is_smtp = line.starts_with(b"220") && line.windows(4).any(|word| word == b"SMTP");
        is_smtp.then_some(TurnProtocol::Smtp)
    }

    /// The name of the client's request that a packet begins with.
    pub fn request_name(self, payload: &[u8]) -> Option<Box<str>> {
        let name = match self {
            TurnProtocol::MySql => mysql_name(payload)?,
            TurnProtocol::Postgres => postgres_name(payload)?,
            TurnProtocol::Redis => redis_name(payload)?,
            TurnProtocol::Dns => dns_name(payload)?,
            TurnProtocol::Smtp => smtp_name(payload)?,
        };
        Some(name.chars().take(MAX_NAME).collect::<String>().into())
    }
}

/// Whether a server's first bytes are a greeting: of MySQL, SMTP, FTP, POP3, IMAP or SSH. Clients say nothing before it.
pub fn is_greeting(payload: &[u8]) -> bool {
    const LINES: [&[u8]; 5] = [b"220 ", b"220-", b"+OK", b"* OK", b"SSH-"];
    is_mysql_greeting(payload) || LINES.iter().any(|line| payload.starts_with(line))
}

/// A handshake of version 10: a packet of its announced length with number 0, and a version that ends with a zero.
fn is_mysql_greeting(payload: &[u8]) -> bool {
    let [a, b, c, 0, 10, rest @ ..] = payload else { return false };
    let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
    let version = rest.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    length + 4 == payload.len() && version > 0 && rest.get(version) == Some(&0)
}

fn mysql_name(payload: &[u8]) -> Option<String> {
    // A command begins a new numbering; the answer to the greeting has number 1.
    let [_, _, _, number, command, text @ ..] = payload else { return None };
    match number {
        0 => {}
        1 => return Some("MySQL login".to_owned()),
        _ => return None,
    }
    let name = MYSQL.iter().find(|(code, _)| code == command)?.1;
    Some(match statement(text).filter(|_| matches!(command, 3 | 22)) {
        Some(word) => format!("MySQL {name} {word}"),
        None => format!("MySQL {name}"),
    })
}

fn start_of_postgres(payload: &[u8]) -> Option<&'static str> {
    let length = u32::from_be_bytes(payload.get(..4)?.try_into().ok()?) as usize;
    let code = u32::from_be_bytes(payload.get(4..8)?.try_into().ok()?);
    let start = STARTS.iter().find(|(known, _)| *known == code)?;
    (length == payload.len()).then_some(start.1)
}

fn postgres_name(payload: &[u8]) -> Option<String> {
    if let Some(start) = start_of_postgres(payload) {
        return Some(format!("PostgreSQL {start}"));
    }
    let (kind, rest) = payload.split_first()?;
    let name = POSTGRES.iter().find(|(known, _)| known == kind)?.1;
    let text = rest.get(4..)?;
    let text = match kind {
        b'Q' => text,
        // The name of the prepared statement stands before its text.
        b'P' => text.splitn(2, |byte| *byte == 0).nth(1)?,
        _ => &[],
    };
    Some(match statement(text) {
        Some(word) => format!("PostgreSQL {name} {word}"),
        None => format!("PostgreSQL {name}"),
    })
}

/// The first word of a statement of SQL, in capitals.
fn statement(text: &[u8]) -> Option<String> {
    let word: Vec<u8> = text
        .trim_ascii_start()
        .iter()
        .take_while(|byte| byte.is_ascii_alphabetic())
        .take(16)
        .copied()
        .collect();
    let word = String::from_utf8(word).ok()?.to_ascii_uppercase();
    (!word.is_empty()).then_some(word)
}

/// The command of an array of bulk strings (RESP).
fn redis_name(payload: &[u8]) -> Option<String> {
    let mut lines = payload.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r"));
    let number = |line: Option<Option<&[u8]>>, mark: u8| -> Option<usize> {
        let digits = line??.strip_prefix(&[mark])?;
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    number(lines.next(), b'*').filter(|words| *words > 0)?;
    let length = number(lines.next(), b'$')?;
    let word = lines.next()??;
    let is_command = word.len() == length && word.iter().all(u8::is_ascii_alphanumeric);
    let word = std::str::from_utf8(word).ok().filter(|word| is_command && !word.is_empty())?;
    Some(format!("Redis {}", word.to_ascii_uppercase()))
}

/// A query with one question (RFC 1035, 4.1; 4.2.2 for its length over TCP).
fn dns_name(payload: &[u8]) -> Option<String> {
    let length = usize::from(u16_at(payload.get(..2)?, 0, true));
    let message = payload.get(2..)?;
    let head = message.get(..12)?;
    let is_query = head[2] & 0xf8 == 0 && u16_at(head, 4, true) == 1 && u16_at(head, 6, true) == 0;
    if !is_query || message.len() > length {
        return None;
    }
    let mut at = 12;
    let mut name = String::new();
    loop {
        let label = usize::from(*message.get(at)?);
        if label == 0 {
            break;
        }
        let bytes = message.get(at + 1..at + 1 + label).filter(|_| label <= 63)?;
        if !bytes.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        name.extend(bytes.iter().map(|byte| char::from(*byte)).chain(['.']));
        at += 1 + label;
    }
    let kind = u16_at(message.get(at + 1..at + 3)?, 0, true);
    let kind = RECORDS.iter().find(|(known, _)| *known == kind).map(|(_, text)| (*text).to_owned());
    let name = if name.is_empty() { ".".to_owned() } else { name };
    Some(format!("DNS {} {name}", kind.unwrap_or_else(|| "other".to_owned())))
}

fn smtp_name(payload: &[u8]) -> Option<String> {
    let word: Vec<u8> =
        payload.iter().take_while(|byte| byte.is_ascii_alphabetic()).take(9).copied().collect();
    let word = String::from_utf8(word).ok()?.to_ascii_uppercase();
    let ends = payload.get(word.len()).is_some_and(|byte| matches!(byte, b' ' | b'\r' | b'\n'));
    (ends && SMTP.contains(&word.as_str())).then(|| format!("SMTP {word}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(protocol: TurnProtocol, payload: &[u8]) -> String {
        protocol.request_name(payload).unwrap_or_default().into()
    }

    #[test]
    fn protocols_are_recognised_by_their_first_bytes() {
        let mut greeting = b"\x4a\0\0\0\x0a8.0.36\0".to_vec();
        greeting.resize(0x4a + 4, 1);
        let mut start = b"\0\0\0\x1a\0\x03\0\0user\0app\0".to_vec();
        start.resize(26, 0);
        let query = b"\0\x1d\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01";
        for (client, want) in [
            (&start[..], Some(TurnProtocol::Postgres)),
            (b"\0\0\0\x08\x04\xd2\x16\x2f", Some(TurnProtocol::Postgres)),
            (b"*1\r\n$4\r\nPING\r\n", Some(TurnProtocol::Redis)),
            (&query[..], Some(TurnProtocol::Dns)),
            (b"SSH-2.0-OpenSSH_9.6\r\n", None),
            (b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", None),
            (b"", None),
        ] {
            assert_eq!(TurnProtocol::of_client(client), want, "{}", client.escape_ascii());
        }
        for (server, want) in [
            (&greeting[..], Some(TurnProtocol::MySql)),
            (b"220 mail.example ESMTP\r\n", Some(TurnProtocol::Smtp)),
            (b"220 ProFTPD Server ready\r\n", None),
            (b"", None),
        ] {
            assert_eq!(TurnProtocol::of_server(server), want, "{}", server.escape_ascii());
        }
        assert_eq!(name(TurnProtocol::Dns, query), "DNS A www.example.");
        assert_eq!(name(TurnProtocol::Postgres, &start), "PostgreSQL start");
    }

    #[test]
    fn requests_have_names_without_their_values() {
        use TurnProtocol::{MySql, Postgres, Redis, Smtp};
        for (protocol, payload, want) in [
            (MySql, &b"\x20\0\0\0\x03select secret from t"[..], "MySQL Query SELECT"),
            (MySql, b"\x01\0\0\0\x0e", "MySQL Ping"),
            (MySql, b"\x54\0\0\x01\x85\xa6", "MySQL login"),
            (MySql, b"\x54\0\0\x02\x85\xa6", ""),
            (Postgres, b"Q\0\0\0\x20 update t set x=1\0", "PostgreSQL Query UPDATE"),
            (Postgres, b"P\0\0\0\x20stmt\0INSERT INTO t\0", "PostgreSQL Parse INSERT"),
            (Postgres, b"p\0\0\0\x08abc\0", "PostgreSQL password"),
            (Redis, b"*2\r\n$3\r\nget\r\n$6\r\nsecret\r\n", "Redis GET"),
            (Redis, b"*2\r\n$9\r\nget\r\n", ""),
            (Smtp, b"mail FROM:<a@b.example>\r\n", "SMTP MAIL"),
            (Smtp, b"mailbox", ""),
            (Smtp, b"Subject: hello\r\n", ""),
        ] {
            assert_eq!(name(protocol, payload), want, "{}", payload.escape_ascii());
        }
    }

    #[test]
    fn any_bytes_are_taken() {
        let all = [TurnProtocol::MySql, TurnProtocol::Postgres, TurnProtocol::Redis]
            .into_iter()
            .chain([TurnProtocol::Dns, TurnProtocol::Smtp]);
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        for protocol in all {
            for from in 0..300 {
                for to in [from, from + 1, from + 7, from + 40] {
                    let _ = protocol.request_name(&bytes[from..to]);
                    let _ = TurnProtocol::of_client(&bytes[from..to]);
                    let _ = TurnProtocol::of_server(&bytes[from..to]);
                }
            }
        }
    }
}
