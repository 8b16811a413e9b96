//! The beginning of a TLS connection, read for the name that the client asks for (RFC 8446 §4.1.2, RFC 6066 §3).
//!
//! It reads a ClientHello that may lie in several records and says what it found; it answers nothing and keeps nothing.
//! Values that nobody defined (RFC 8701) are passed over, as are records that servers pass over before a hello: whatever a
//! server may find a name in is either read here or said to be unclear. Where the real hello is encrypted (ECH) the name is
//! that of the outer one.

/// Bytes of a ClientHello that are looked at; browsers send up to about 2 KiB.
pub const LONGEST: usize = 32 * 1024;
/// Bytes of records up to the end of a hello: nobody needs so many that are cut so small.
const MOST_BYTES: usize = LONGEST + 4 * 1024;

/// Bytes of a record's header.
const RECORD: usize = 5;
/// Kinds of records (RFC 8446 §5.1).
const CHANGE_CIPHER_SPEC: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
/// The longest record without protection (RFC 8446 §5.1).
const LONGEST_RECORD: usize = 1 << 14;

/// What a connection begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientHelloPeek {
    /// The beginning of a hello: more bytes are needed.
    Partial,
    Complete {
        /// The name asked for, lower case, without the dot of the root; `None`: none was.
        name: Option<String>,
    },
    /// No hello, or a broken one; the reason.
    Other(ClientHelloError),
}

/// Why bytes are no hello that can be understood. All but `NotTls` are unclear: a server may read a name in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientHelloError {
    /// No records of TLS: no server finds a hello here.
    NotTls,
    /// A handshake message of another kind.
    OtherMessage,
    TooLong,
    /// A length that leads out of what holds it.
    Malformed,
    /// A name that is none, or two.
    BadName,
}

/// Reads what a connection begins with. The outcome is the same however the bytes arrive.
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

/// The body of the first handshake message, out of its records. What is wrong is said as soon as it shows, so that the
/// outcome does not depend on how much has arrived.
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
        // Versions of records mean nothing, and servers take any (RFC 8446 §5.1).
        match kind {
            None => return Ok(None),
            Some(HANDSHAKE) => {}
            // Another protocol may well begin with the number of an alert; its second byte is hardly one like a version's.
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

/// Bytes of a message with its header, once that is there.
fn message_length(message: &[u8]) -> Result<Option<usize>, ClientHelloError> {
    let wanted = match message.get(..4) {
        Some([1, a, b, c]) => 4 + u32::from_be_bytes([0, *a, *b, *c]) as usize,
        Some(_) => return Err(ClientHelloError::OtherMessage),
        None => return Ok(None),
    };
    if wanted > LONGEST { Err(ClientHelloError::TooLong) } else { Ok(Some(wanted)) }
}

/// What is left of a message while it is read.
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

    /// A vector whose length takes so many bytes.
    fn vector(&mut self, bytes: usize) -> Result<HandshakeReader<'m>, ClientHelloError> {
        let length = self.number(bytes)?;
        self.take(length).map(HandshakeReader)
    }
}

fn read_server_name(message: &[u8]) -> Result<Option<String>, ClientHelloError> {
    let mut hello = HandshakeReader(message);
    // Version and random.
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

/// RFC 6066 §3: a list, of which only host names are known, at most one.
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
    // RFC 1035 §2.3.4: no label is empty, or longer than 63 bytes.
    let labels = || name.split(|b| *b == b'.').all(|label| (1..=63).contains(&label.len()));
    if !(1..=253).contains(&name.len()) || !name.iter().all(good) || !labels() {
        return Err(ClientHelloError::BadName);
    }
    let name = name.to_ascii_lowercase();
    String::from_utf8(name).map_err(|_| ClientHelloError::BadName)
}
