//! Key exchanges of TLS handshakes, counted by group.

use std::sync::atomic::{AtomicU64, Ordering};

/// Handshakes by their key exchange group.
#[derive(Debug, Default)]
pub struct KeyExchangeGroups([AtomicU64; KeyExchangeGroups::NAMES.len()]);

impl KeyExchangeGroups {
    /// Groups by the names that RFC 8446 and draft-ietf-tls-ecdhe-mlkem give them, in lower case; the last stands for
    /// all others.
    pub const NAMES: [&'static str; 5] =
        ["x25519mlkem768", "x25519", "secp256r1", "secp384r1", "other"];

    /// Counts a handshake of this group.
    pub fn record_group(&self, name: &str) {
        let last = KeyExchangeGroups::NAMES.len() - 1;
        let at = KeyExchangeGroups::NAMES.iter().position(|known| *known == name).unwrap_or(last);
        self.0[at].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts, in the order of `NAMES`.
    pub fn counts(&self) -> [u64; KeyExchangeGroups::NAMES.len()] {
        std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_name_here_counts_as_other() {
        let groups = KeyExchangeGroups::default();
        for name in ["x25519mlkem768", "x25519", "x25519", "ffdhe2048"] {
            groups.record_group(name);
        }
        assert_eq!(groups.counts(), [1, 2, 0, 0, 1]);
    }
}
