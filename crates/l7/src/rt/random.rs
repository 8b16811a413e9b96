//! Unpredictable random bytes.

/// Fills `bytes` with random bytes.
pub fn fill(bytes: &mut [u8]) {
    // The kernel provides randomness from early boot on; a failure could not be handled here.
    let _ = aws_lc_rs::rand::fill(bytes);
}

pub fn number() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
