//! Unpredictable random bytes.

/// Fills with random bytes.
pub fn fill(bytes: &mut [u8]) {
    // The kernel has them from early boot on: there is nothing to be done about a failure.
    let _ = aws_lc_rs::rand::fill(bytes);
}

pub fn number() -> u64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}
