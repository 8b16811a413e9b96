//! Chooses a client's certificate: by the requested server name, exact before wildcard, and by the signatures that the
//! client supports.
//!
//! Certificates are not verified here.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{SignatureAlgorithm, SignatureScheme};

use super::handshake_observation;
use super::identity::TlsIdentity;

type KeyCandidates = Vec<Arc<CertifiedKey>>;

/// The certificates of a service by name.
pub(super) struct CertificateResolver {
    exact: HashMap<String, KeyCandidates>,
    /// Wildcards, by the part after `*.`.
    wildcard: HashMap<String, KeyCandidates>,
    default: KeyCandidates,
    refuse_unknown: bool,
    /// The ACME challenge certificates by name, which only authorities get.
    challenge_certificates: HashMap<String, Arc<CertifiedKey>>,
}

/// The ALPN protocol of an ACME authority that validates a name (RFC 8737 §3).
pub(crate) const ACME_TLS_ALPN: &[u8] = b"acme-tls/1";

impl CertificateResolver {
    /// For these certificates, the first of which is the default. With `refuse_unknown` an unknown name gets no
    /// certificate.
    pub(super) fn new(
        identities: &[Arc<TlsIdentity>],
        refuse_unknown: bool,
    ) -> CertificateResolver {
        let mut exact = HashMap::new();
        let mut wildcard = HashMap::new();
        for identity in identities {
            for name in &identity.facts.names {
                let (map, name): (&mut HashMap<String, KeyCandidates>, _) =
                    match name.strip_prefix("*.") {
                        Some(rest) => (&mut wildcard, rest),
                        None => (&mut exact, name.as_str()),
                    };
                map.entry(name.to_owned()).or_default().push(identity.key.clone());
            }
        }
        let default = Vec::new();
        let proofs = HashMap::new();
        let mut by_name = CertificateResolver {
            exact,
            wildcard,
            default,
            refuse_unknown,
            challenge_certificates: proofs,
        };
        for keys in by_name.exact.values_mut().chain(by_name.wildcard.values_mut()) {
            // The cheaper signature first (a stable sort: equal keys stay in the file's order).
            keys.sort_by_key(|key| rank(key));
        }
        if let Some(first) = identities.first() {
            let same = first.facts.names.first().and_then(|name| by_name.candidates_for(name));
            by_name.default = match same {
                Some(keys) if keys.iter().any(|key| Arc::ptr_eq(key, &first.key)) => keys.clone(),
                _ => vec![first.key.clone()],
            };
        }
        by_name
    }

    /// Adds the challenge certificates, which are used only for the ACME protocol.
    pub(super) fn with_challenges(mut self, proofs: &[Arc<TlsIdentity>]) -> CertificateResolver {
        for proof in proofs {
            let names = proof.facts.names.iter();
            self.challenge_certificates.extend(names.map(|name| (name.clone(), proof.key.clone())));
        }
        self
    }

    fn candidates_for(&self, name: &str) -> Option<&KeyCandidates> {
        let exact = match name.strip_prefix("*.") {
            Some(rest) => self.wildcard.get(rest),
            None => self.exact.get(name),
        };
        exact.or_else(|| self.wildcard.get(name.split_once('.')?.1))
    }

    fn choose(&self, name: Option<&str>, schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let named = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        let keys = match named.as_deref().map(|name| self.candidates_for(name)) {
            Some(Some(keys)) => keys,
            Some(None) if self.refuse_unknown => return None,
            _ => &self.default,
        };
        let usable = keys.iter().find(|key| key.key.choose_scheme(schemes).is_some());
        usable.or(keys.first()).cloned()
    }
}

impl ResolvesServerCert for CertificateResolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name();
        handshake_observation::note_server_name(name);
        let mut protocols = hello.alpn().into_iter().flatten();
        if protocols.next() == Some(ACME_TLS_ALPN) && protocols.next().is_none() {
            return self.challenge_certificates.get(&name?.to_ascii_lowercase()).cloned();
        }
        self.choose(name, hello.signature_schemes())
    }
}

impl fmt::Debug for CertificateResolver {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "ByName({} exact, {} wildcard)", self.exact.len(), self.wildcard.len())
    }
}

fn rank(key: &CertifiedKey) -> u8 {
    match key.key.algorithm() {
        SignatureAlgorithm::ECDSA => 0,
        SignatureAlgorithm::ED25519 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may fail")]

    use super::*;

    fn identity(names: &[&str], algorithm: &'static rcgen::SignatureAlgorithm) -> Arc<TlsIdentity> {
        let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let text = certificate.pem() + &key.serialize_pem();
        Arc::new(TlsIdentity::read(text.as_bytes(), None, None).unwrap())
    }

    #[test]
    fn exact_comes_before_wildcard_before_default() {
        let p256 = &rcgen::PKCS_ECDSA_P256_SHA256;
        let all = [
            identity(&["a.example"], p256),
            identity(&["*.b.example"], p256),
            identity(&["x.b.example"], p256),
        ];
        let lenient = CertificateResolver::new(&all, false);
        let strict = CertificateResolver::new(&all, true);
        let schemes = [SignatureScheme::ECDSA_NISTP256_SHA256];
        let rows = [
            (Some("a.example"), Some(0)),
            (Some("A.Example."), Some(0)),
            (Some("y.b.example"), Some(1)),
            (Some("x.b.example"), Some(2)),
            // A wildcard stands for one label (RFC 6125 §6.4.3).
            (Some("z.y.b.example"), None),
            (Some("b.example"), None),
            (None, Some(0)),
        ];
        for (name, wanted) in rows {
            let is = |got: Option<Arc<CertifiedKey>>, at: Option<usize>| match (got, at) {
                (Some(key), Some(at)) => Arc::ptr_eq(&key, &all[at].key),
                (None, None) => true,
                _ => false,
            };
            assert!(is(strict.choose(name, &schemes), wanted), "{name:?}");
            assert!(is(lenient.choose(name, &schemes), wanted.or(Some(0))), "{name:?}");
        }
    }

    #[test]
    fn a_client_gets_what_it_can_verify() {
        let both = [
            identity(&["a.example"], &rcgen::PKCS_RSA_SHA256),
            identity(&["a.example"], &rcgen::PKCS_ECDSA_P256_SHA256),
        ];
        let names = CertificateResolver::new(&both, false);
        let old = [SignatureScheme::RSA_PSS_SHA256];
        let new = [SignatureScheme::RSA_PSS_SHA256, SignatureScheme::ECDSA_NISTP256_SHA256];
        for name in [Some("a.example"), None] {
            assert!(Arc::ptr_eq(&names.choose(name, &old).unwrap(), &both[0].key));
            assert!(Arc::ptr_eq(&names.choose(name, &new).unwrap(), &both[1].key));
        }
    }
}
