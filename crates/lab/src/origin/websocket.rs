//! The smallest WebSocket server that tests of tunnels need: the handshake's key and an echo of frames.
//!
//! RFC 6455. Fragments are echoed unchanged; nothing is negotiated, and text is not checked for UTF-8.

/// `Sec-WebSocket-Accept` for a key (RFC 6455 §4.2.2).
pub fn accept_key(key: &str) -> String {
    base64(&sha1(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes()))
}

/// The result of processing frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FramesOutcome {
    /// This many bytes were used; the rest is an incomplete frame.
    Consumed(usize),
    /// The peer sent a close or broke the protocol: send the output, then close.
    Close,
}

/// Processes every complete frame in `input`: echoes data unmasked, answers a ping with a pong and a close with a
/// close.
pub fn echo_frames(input: &[u8], out: &mut Vec<u8>) -> FramesOutcome {
    let mut used = 0;
    loop {
        match parse_frame(&input[used..]) {
            None => return FramesOutcome::Consumed(used),
            Some(Err(BrokenFrame)) => {
                out.extend_from_slice(&[0x88, 2, 0x03, 0xea]);
                return FramesOutcome::Close;
            }
            Some(Ok(frame)) => {
                used += frame.length;
                let reply = if frame.opcode == PING { PONG } else { frame.opcode };
                if frame.opcode != PONG {
                    write_frame(frame.fin | reply, frame.mask, frame.payload, out);
                }
                if frame.opcode == CLOSE {
                    return FramesOutcome::Close;
                }
            }
        }
    }
}

struct WebSocketFrame<'a> {
    fin: u8,
    opcode: u8,
    mask: [u8; 4],
    payload: &'a [u8],
    length: usize,
}

/// A frame that is not masked, has reserved bits set, or is too long to buffer.
struct BrokenFrame;

fn parse_frame(bytes: &[u8]) -> Option<Result<WebSocketFrame<'_>, BrokenFrame>> {
    let first = *bytes.first()?;
    let second = *bytes.get(1)?;
    if second & 0x80 == 0 || first & 0x70 != 0 {
        return Some(Err(BrokenFrame));
    }
    let (long, head) = match second & 0x7f {
        126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
        short => (u64::from(short), 2),
    };
    let Some(long) = usize::try_from(long).ok().filter(|long| *long <= MOST) else {
        return Some(Err(BrokenFrame));
    };
    let mask = bytes.get(head..head + 4)?.try_into().ok()?;
    let payload = bytes.get(head + 4..head + 4 + long)?;
    let length = head + 4 + long;
    Some(Ok(WebSocketFrame { fin: first & 0x80, opcode: first & 0x0f, mask, payload, length }))
}

fn write_frame(first: u8, mask: [u8; 4], payload: &[u8], out: &mut Vec<u8>) {
    out.push(first);
    match payload.len() {
        short @ 0..126 => out.push(short as u8),
        medium @ 126..65_536 => {
            out.push(126);
            out.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            out.push(127);
            out.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
}

/// SHA-1 (FIPS 180-4 §6.1), required by the handshake; unsuitable for anything secret.
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize(padded.len().next_multiple_of(64), 0);
    if padded.len() - message.len() < 9 {
        padded.resize(padded.len() + 64, 0);
    }
    let at = padded.len() - 8;
    padded[at..].copy_from_slice(&(message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words = [0u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for t in 16..80 {
            let mixed = words[t - 3] ^ words[t - 8] ^ words[t - 14] ^ words[t - 16];
            words[t] = mixed.rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (t, word) in words.iter().enumerate() {
            let (f, k) = match t / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let sum = a.rotate_left(5).wrapping_add(f).wrapping_add(e);
            let sum = sum.wrapping_add(k).wrapping_add(*word);
            (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
        }
        for (part, add) in state.iter_mut().zip([a, b, c, d, e]) {
            *part = part.wrapping_add(add);
        }
    }
    let mut digest = [0; 20];
    for (bytes, part) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&part.to_be_bytes());
    }
    digest
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            if digit <= chunk.len() {
                text.push(char::from(DIGITS[(bits >> (18 - 6 * digit) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Opcodes of control frames (RFC 6455 §5.2).
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// Longest payload accepted, bytes.
/// Messages of the tests are smaller; a length from a damaged frame must not fill the memory.
const MOST: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(accept_key("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn digests_around_a_block() {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(&sha1(b"")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(hex(&sha1(b"abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(&sha1(long)), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    }

    #[test]
    fn frames_in_every_split() {
        let mut input = vec![0x81, 0x83, 1, 2, 3, 4, b'a' ^ 1, b'b' ^ 2, b'c' ^ 3];
        input.extend([0x89, 0x80, 0, 0, 0, 0]);
        input.extend([0x82, 0xfe, 0, 200, 9, 9, 9, 9]);
        input.extend([7; 200]);
        let mut expected = vec![0x81, 3, b'a', b'b', b'c', 0x8a, 0, 0x82, 126, 0, 200];
        expected.extend([7 ^ 9; 200]);
        for split in 0..=input.len() {
            let mut out = Vec::new();
            let FramesOutcome::Consumed(used) = echo_frames(&input[..split], &mut out) else {
                panic!()
            };
            assert_eq!(
                echo_frames(&input[used..], &mut out),
                FramesOutcome::Consumed(input.len() - used)
            );
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn close_and_unmasked_frames_end_it() {
        for input in [&[0x88, 0x80, 0, 0, 0, 0][..], &[0x81, 0x01, b'a']] {
            let mut out = Vec::new();
            assert_eq!(echo_frames(input, &mut out), FramesOutcome::Close);
            assert_eq!(out[0], 0x88);
        }
    }
}
