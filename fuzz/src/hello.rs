//! Targets of the ClientHello parser for SNI: any bytes, and ClientHellos with consistent lengths.
//!
//! Properties besides not panicking: the result does not depend on how the bytes are split, and a returned name is a
//! valid host name.

use wire::client_hello::{ClientHelloPeek, parse_client_hello};

/// Bytes at the beginning of a connection.
pub fn any(bytes: &[u8]) {
    parse_hello(bytes);
}

/// The bytes as the extensions of a ClientHello. Each extension has a kind, a length and a value, and all surrounding
/// lengths are consistent.
///
/// The first byte sets the size of a record.
pub fn extensions(bytes: &[u8]) {
    let Some((each, bytes)) = bytes.split_first() else { return };
    let bytes = &bytes[..bytes.len().min(16_000)];
    let mut all = Vec::new();
    let mut rest = bytes;
    while let [kind, length, after @ ..] = rest {
        let (value, more) = after.split_at(after.len().min(usize::from(*length)));
        all.extend([0, *kind]);
        all.extend((value.len() as u16).to_be_bytes());
        all.extend(value);
        rest = more;
    }
    let message = message(&all);
    let whole = parse_hello(&records(&message, message.len()));
    assert_eq!(parse_hello(&records(&message, 1 + usize::from(*each))), whole, "records change it");
    assert_ne!(whole, ClientHelloPeek::Partial, "a whole hello");
}

fn parse_hello(bytes: &[u8]) -> ClientHelloPeek {
    let whole = parse_client_hello(bytes);
    let step = 1 + bytes.len() / 24;
    for end in (0..bytes.len()).step_by(step) {
        let cut = parse_client_hello(&bytes[..end]);
        assert!(
            cut == ClientHelloPeek::Partial || cut == whole,
            "{cut:?} after {end} bytes, then {whole:?}"
        );
    }
    if let ClientHelloPeek::Complete { name: Some(name) } = &whole {
        assert!(!name.is_empty() && name.len() <= 255, "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_graphic()), "{name:?}");
        assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase()), "{name}");
        assert!(!name.ends_with('.'), "{name}");
    }
    whole
}

/// A ClientHello with these extensions.
fn message(extensions: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend([2, 9, 9, 0, 4, 0x0a, 0x0a, 0x13, 0x01, 1, 0]);
    body.extend((extensions.len() as u16).to_be_bytes());
    body.extend(extensions);
    let length = (body.len() as u32).to_be_bytes();
    [&[1], &length[1..], &body[..]].concat()
}

/// A message in records of at most `each` bytes.
fn records(message: &[u8], each: usize) -> Vec<u8> {
    let record = |part: &[u8]| {
        let length = (part.len() as u16).to_be_bytes();
        [&[22, 3, 1], &length[..], part].concat()
    };
    message.chunks(each.clamp(1, 1 << 14)).flat_map(record).collect()
}

/// The server_name extension with this host.
fn name(host: &[u8]) -> Vec<u8> {
    let length = (host.len() + 3) as u8;
    [&[0, length + 2, 0, length, 0, 0, host.len() as u8][..], host].concat()
}

/// Extensions in the format of the target.
pub fn extensions_seeds() -> Vec<Vec<u8>> {
    let name = name(b"shop.example");
    let versions = [43, 3, 2, 3, 4];
    vec![
        [&[255][..], &name, &versions].concat(),
        [&[3][..], &versions, &[10, 2, 7, 7], &name].concat(),
    ]
}

/// ClientHellos in one record and in several.
pub fn any_seeds() -> Vec<Vec<u8>> {
    let host = b"Shop.example.";
    let list = [&[0, host.len() as u8 + 3, 0, 0, host.len() as u8], &host[..]].concat();
    let extension = [&[0, 0, 0, list.len() as u8], &list[..]].concat();
    let message = message(&extension);
    vec![records(&message, 4_096), records(&message, 20), b"GET / HTTP/1.1\r\n".to_vec()]
}
