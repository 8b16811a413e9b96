//! A deterministic mutator: one seed produces one input, so a failure can be reproduced from one number.
//!
//! It uses keywords of HTTP/1 and numbers, not the grammar. There is no stored corpus and no coverage measurement.

/// SplitMix64: small, seeded, and the same on every platform.
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

impl SplitMix {
    pub fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`, which is not 0.
    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() % count as u64) as usize
    }

    /// One element of `all`, which is not empty.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// A range within `length`.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let from = self.below(length + 1);
        let to = from + self.below((length - from).min(40) + 1);
        from..to
    }
}

/// Byte strings that change the meaning of a message.
pub const HTTP_WORDS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b" ",
    b"\t",
    b"\0",
    b":",
    b",",
    b";",
    b"\"",
    b"0\r\n\r\n",
    b"5\r\n",
    b"ffffffffffffffff",
    b"00000000",
    b"+",
    b"-1",
    b"GET ",
    b"HEAD ",
    b"OPTIONS * ",
    b"http://h.example",
    b"HTTP/1.0",
    b"HTTP/1.1",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 204 \r\n",
    b"Host: a\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 0\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"Expect: 100-continue\r\n",
    b"Trailer: X\r\n",
    b"X: y\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
];

/// One of the `seeds` with a few changes; some results are unchanged.
pub fn mutate(draw: &mut SplitMix, seeds: &[Vec<u8>], words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = draw.of(seeds).clone();
    for _ in 0..draw.below(5) {
        change(draw, &mut bytes, seeds, words);
    }
    bytes
}

fn change(draw: &mut SplitMix, bytes: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&[u8]]) {
    let at = draw.range(bytes.len());
    match draw.below(8) {
        0 => drop(bytes.drain(at)),
        1 | 2 => drop(bytes.splice(at.start..at.start, draw.of(words).iter().copied())),
        3 => drop(bytes.splice(at, draw.of(words).iter().copied())),
        4 => {
            let copy = bytes[at.clone()].to_vec();
            bytes.splice(at.start..at.start, copy);
        }
        5 => {
            let other = draw.of(seeds);
            let range = draw.range(other.len());
            bytes.splice(at, other[range].iter().copied());
        }
        6 => bytes.extend(draw.of(seeds)),
        _ => {
            if let Some(byte) = bytes.get_mut(at.start) {
                *byte =
                    if draw.below(2) == 0 { *byte ^ 1 << draw.below(8) } else { draw.bits() as u8 };
            }
        }
    }
}
