//! Versions, ciphers and groups by the configuration's names. It holds no key.

use std::sync::Arc;

use model::config::{TlsPolicy, TlsVersion};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ProtocolVersion, SupportedProtocolVersion};

/// What computes, with the ciphers of a policy. The library has neither CBC nor static RSA to begin with.
pub fn provider(policy: TlsPolicy) -> Arc<CryptoProvider> {
    let mut provider = aws_lc_rs::default_provider();
    if policy == TlsPolicy::Modern {
        provider.cipher_suites.retain(|suite| suite.version().version == ProtocolVersion::TLSv1_3);
    }
    Arc::new(provider)
}

/// The versions from a least one on.
pub fn versions(minimum: TlsVersion) -> &'static [&'static SupportedProtocolVersion] {
    static BOTH: [&SupportedProtocolVersion; 2] =
        [&rustls::version::TLS13, &rustls::version::TLS12];
    match minimum {
        TlsVersion::Tls12 => &BOTH,
        TlsVersion::Tls13 => &BOTH[..1],
    }
}
