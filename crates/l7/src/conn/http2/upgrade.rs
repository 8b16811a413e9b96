//! Sec-WebSocket-Key and Sec-WebSocket-Accept (RFC 6455 §4) for the HTTP/2 side of a WebSocket.
//! Extended CONNECT (RFC 8441) has neither field.
//!
//! The values have no security function; HTTP/1.1 requires them.

use aws_lc_rs::digest;
use model::load_balancing::Rng;

/// The GUID that is appended to a key before hashing (RFC 6455 §1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// A `Sec-WebSocket-Key` from 16 random bytes.
pub fn key(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&rng.next().to_be_bytes());
    bytes[8..].copy_from_slice(&rng.next().to_be_bytes());
    base64(&bytes)
}

/// The `Sec-WebSocket-Accept` for a key.
pub fn accept(key: &[u8]) -> Vec<u8> {
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    context.update(key);
    context.update(GUID);
    base64(context.finish().as_ref())
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= group.len() { digit } else { b'=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_that_of_the_rfc() {
        assert_eq!(accept(b"dGhlIHNhbXBsZSBub25jZQ=="), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert_eq!(base64(b""), b"");
        assert_eq!(base64(b"f"), b"Zg==");
        assert_eq!(base64(b"fo"), b"Zm8=");
        assert_eq!(base64(b"foo"), b"Zm9v");
        assert_eq!(key(&mut Rng::new(1)).len(), 24);
    }
}
