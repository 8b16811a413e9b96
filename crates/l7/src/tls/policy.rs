//! Maps the configuration's names to TLS versions, ciphers and groups.

use std::sync::Arc;

use model::config::{TlsPolicy, TlsVersion};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{CipherSuite, NamedGroup, ProtocolVersion, SupportedProtocolVersion};

/// AES-128 is preferred: it has ten rounds instead of fourteen, and more processors have instructions for SHA-256 than
/// for SHA-384. There is no known practical attack on either key length.
const FIRST: [CipherSuite; 3] = [
    CipherSuite::TLS13_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
];

/// The crypto provider, with the ciphers of a policy in the order of preference. The library supports neither CBC nor
/// static RSA.
pub fn provider(policy: TlsPolicy) -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    // First, so that its key share is in the first flight to servers; the library also sends one of X25519.
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    provider.cipher_suites.sort_by_key(|suite| !FIRST.contains(&suite.suite()));
    if policy == TlsPolicy::Modern {
        provider.cipher_suites.retain(|suite| suite.version().version == ProtocolVersion::TLSv1_3);
    }
    Arc::new(provider)
}

/// The versions from `minimum` on.
pub fn versions(minimum: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] =
        [&rustls::version::TLS13, &rustls::version::TLS12];
    match minimum {
        TlsVersion::Tls12 => &BOTH,
        TlsVersion::Tls13 => &BOTH[..1],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_of_what_is_sound_comes_first() {
        for policy in [TlsPolicy::Intermediate, TlsPolicy::Modern] {
            let provider = provider(policy);
            let suites: Vec<_> = provider.cipher_suites.iter().map(|one| one.suite()).collect();
            let first = &FIRST[..if policy == TlsPolicy::Modern { 1 } else { 3 }];
            assert_eq!(&suites[..first.len()], first, "{policy:?}");
            assert!(suites.contains(&CipherSuite::TLS13_AES_256_GCM_SHA384), "{suites:?}");
            assert_eq!(provider.kx_groups[0].name(), NamedGroup::X25519MLKEM768);
        }
    }
}
