//! MD5 (RFC 1321) and HMAC-MD5 (RFC 2104), because RADIUS requires them. Nothing else may use MD5, which is insecure.

/// Shifts by round (RFC 1321 §3.4).
const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
/// Bytes of a block.
const BLOCK: usize = 64;

pub fn md5(bytes: &[u8]) -> [u8; 16] {
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % BLOCK != 56 {
        message.push(0);
    }
    message.extend(((bytes.len() as u64).wrapping_mul(8)).to_le_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in message.chunks_exact(BLOCK) {
        compress(&mut state, block);
    }
    let mut digest = [0; 16];
    for (out, word) in digest.chunks_exact_mut(4).zip(state) {
        out.copy_from_slice(&word.to_le_bytes());
    }
    digest
}

pub fn hmac(key: &[u8], bytes: &[u8]) -> [u8; 16] {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        block[..16].copy_from_slice(&md5(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = [&block.map(|b| b ^ 0x36)[..], bytes].concat();
    md5(&[&block.map(|b| b ^ 0x5c)[..], &md5(&inner)].concat())
}

fn compress(state: &mut [u32; 4], block: &[u8]) {
    let mut words = [0u32; 16];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    }
    let [mut a, mut b, mut c, mut d] = *state;
    for step in 0..BLOCK {
        let (mixed, at) = match step / 16 {
            0 => ((b & c) | (!b & d), step),
            1 => ((d & b) | (!d & c), (5 * step + 1) % 16),
            2 => (b ^ c ^ d, (3 * step + 5) % 16),
            _ => (c ^ (b | !d), (7 * step) % 16),
        };
        // The table of RFC 1321 §3.4: the first 32 bits of |sin(step + 1)|.
        let sine = ((step as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
        let sum = a.wrapping_add(mixed).wrapping_add(sine).wrapping_add(words[at]);
        let turned = b.wrapping_add(sum.rotate_left(SHIFTS[step / 16][step % 4]));
        a = d;
        d = c;
        c = b;
        b = turned;
    }
    for (word, add) in state.iter_mut().zip([a, b, c, d]) {
        *word = word.wrapping_add(add);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: [u8; 16]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_vectors_of_rfc_1321() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("abc", "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            assert_eq!(hex(md5(text.as_bytes())), digest, "{text}");
        }
    }

    #[test]
    fn the_vectors_of_rfc_2202() {
        assert_eq!(hex(hmac(&[0x0b; 16], b"Hi There")), "9294727a3638bb1c13f48ef8158bfc9d");
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        assert_eq!(hex(hmac(&[0xaa; 80], text)), "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
    }
}
