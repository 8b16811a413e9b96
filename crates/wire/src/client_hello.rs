//! Reads the server name (SNI) from the start of a TLS connection (RFC 8446 §4.1.2, RFC 6066 §3).
//!
//! The parser accepts a ClientHello that spans several records. It writes nothing and holds no state. GREASE values
//! (RFC 8701) and the records that servers skip before a ClientHello are skipped here too. So wherever a server could
//! find a name, the parser either reads the name or reports an error. With Encrypted ClientHello (ECH) the name is that
//! of the outer ClientHello.

/// Longest accepted ClientHello, in bytes. Key shares of post-quantum groups (1,216 bytes for X25519MLKEM768) and long
/// lists of extensions stay far below.
pub const LONGEST: usize = 32 * 1024;
/// Bytes of all records up to the end of the ClientHello. The margin of 4 KiB is for the headers of records of 40 bytes
/// each.
const MOST_BYTES: usize = LONGEST + 4 * 1024;

/// Length of a record header in bytes.
/// Type, version and length (RFC 8446 §5.1).
const RECORD: usize = 5;
/// Record content types (RFC 8446 §5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// Longest plaintext record, in bytes (RFC 8446 §5.1).
const LONGEST_RECORD: usize = 1 << 14;

/// What the first bytes of a connection are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientHelloPeek {
    /// The start of a ClientHello; more bytes are needed.
    Partial,
    Complete {
        /// The server name in lower case, without a trailing dot. `None`: the client sent no name.
        name: Option<String>,
    },
    /// No ClientHello, or a malformed one, with the reason.
    Other(ClientHelloError),
}

/// Why the bytes are not an acceptable ClientHello. For every value but `NotTls`, a server may still read a name from
/// these bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHelloError {
    /// Not TLS records: no server finds a ClientHello here.
    NotTls,
    /// A record or handshake message of another type.
    OtherMessage,
    TooLong,
    /// A length field that exceeds its container.
    Malformed,
    /// A host name that is missing from the extension, invalid or repeated.
    BadName,
}

/// Parses the first bytes of a connection. The result does not depend on how the bytes are split between reads.
pub fn parse_client_hello(bytes: &[u8]) -> ClientHelloPeek {
    match handshake_message(bytes) {
        Ok(None) => ClientHelloPeek::Partial,
        Ok(Some(message)) => match read_server_name(&message) {
            Ok(name) => ClientHelloPeek::Complete { name },
            Err(why) => ClientHelloPeek::Other(why),
        },
        Err(why) => ClientHelloPeek::Other(why),
    }
}

/// Reassembles the body of the first handshake message from its records. An error is returned as soon as it is visible,
/// so the result does not depend on how many bytes have arrived.
fn handshake_message(bytes: &[u8]) -> Result<Option<Vec<u8>>, ClientHelloError> {
    let mut message: Vec<u8> = Vec::new();
    let mut rest = bytes;
    loop {
        if let Some(wanted) = message_length(&message)?
            && message.len() >= wanted
        {
            message.truncate(wanted);
            message.drain(..4);
            return Ok(Some(message));
        }
        if bytes.len() - rest.len() > MOST_BYTES {
            return Err(ClientHelloError::TooLong);
        }
        let kind = rest.first().copied();
        // The record version is not checked: servers accept any value (RFC 8446 §5.1).
        match kind {
            None => return Ok(None),
            Some(HANDSHAKE) => {}
            // Another protocol may start with the byte of an alert. Its second byte is unlikely to look like a TLS
            // major version.
            Some(ALERT | CHANGE_CIPHER_SPEC) if rest.get(1).is_none_or(|major| *major < 0x10) => {}
            Some(_) if rest.len() == bytes.len() => return Err(ClientHelloError::NotTls),
            Some(_) => return Err(ClientHelloError::OtherMessage),
        }
        let Some(length) = rest.get(3..RECORD) else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        if length > LONGEST_RECORD {
            return Err(ClientHelloError::Malformed);
        }
        let part = &rest[RECORD..];
        if kind == Some(HANDSHAKE) {
            message.extend_from_slice(&part[..part.len().min(length)]);
        }
        rest = part.get(length..).unwrap_or_default();
    }
}

/// The message's length with its four-byte header; `None` while the header is incomplete.
fn message_length(message: &[u8]) -> Result<Option<usize>, ClientHelloError> {
    let wanted = match message.get(..4) {
        Some([1, a, b, c]) => 4 + u32::from_be_bytes([0, *a, *b, *c]) as usize,
        Some(_) => return Err(ClientHelloError::OtherMessage),
        None => return Ok(None),
    };
    if wanted > LONGEST { Err(ClientHelloError::TooLong) } else { Ok(Some(wanted)) }
}

/// The unread rest of a handshake message.
struct HandshakeReader<'m>(&'m [u8]);

impl<'m> HandshakeReader<'m> {
    fn take(&mut self, count: usize) -> Result<&'m [u8], ClientHelloError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ClientHelloError::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<usize, ClientHelloError> {
        Ok(self.take(bytes)?.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)))
    }

    /// A vector whose length field has `bytes` bytes.
    fn vector(&mut self, bytes: usize) -> Result<HandshakeReader<'m>, ClientHelloError> {
        let length = self.number(bytes)?;
        self.take(length).map(HandshakeReader)
    }
}

fn read_server_name(message: &[u8]) -> Result<Option<String>, ClientHelloError> {
    let mut hello = HandshakeReader(message);
    // Legacy version (2 bytes) and random (32 bytes).
    hello.take(2 + 32)?;
    let _session = hello.vector(1)?;
    let _ciphers = hello.vector(2)?;
    let _compressions = hello.vector(1)?;
    if hello.0.is_empty() {
        return Ok(None);
    }
    let mut extensions = hello.vector(2)?;
    let mut found = None;
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let body = extensions.vector(2)?;
        if kind == 0 {
            if found.is_some() {
                return Err(ClientHelloError::BadName);
            }
            found = Some(server_name(body)?);
        }
    }
    if !hello.0.is_empty() {
        return Err(ClientHelloError::Malformed);
    }
    Ok(found)
}

/// RFC 6066 §3: a list of names, of which only the type `host_name` (0) is defined, at most once.
fn server_name(mut body: HandshakeReader<'_>) -> Result<String, ClientHelloError> {
    let mut list = body.vector(2)?;
    let mut found = None;
    while !list.0.is_empty() {
        let kind = list.number(1)?;
        let name = list.vector(2)?;
        if kind == 0 && found.replace(parse_host_name(name.0)?).is_some() {
            return Err(ClientHelloError::BadName);
        }
    }
    if !body.0.is_empty() {
        return Err(ClientHelloError::Malformed);
    }
    found.ok_or(ClientHelloError::BadName)
}

fn parse_host_name(name: &[u8]) -> Result<String, ClientHelloError> {
    let name = name.strip_suffix(b".").unwrap_or(name);
    let good = |b: &u8| b.is_ascii_alphanumeric() || b"-._".contains(b);
    // RFC 1035 §2.3.4: a label has 1 to 63 bytes.
    let labels = || name.split(|b| *b == b'.').all(|label| (1..=63).contains(&label.len()));
    if !(1..=253).contains(&name.len()) || !name.iter().all(good) || !labels() {
        return Err(ClientHelloError::BadName);
    }
    let name = name.to_ascii_lowercase();
    String::from_utf8(name).map_err(|_| ClientHelloError::BadName)
}
