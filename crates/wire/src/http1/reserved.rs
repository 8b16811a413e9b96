//! Fields that belong to the balancer: a peer may not write them, under no spelling that a receiver may take for them.
//!
//! Gateways (CGI, WSGI, FastCGI) turn `-` into `_`, so every character that is no letter and no digit counts as one. It
//! knows names only; who decides which names are reserved is the caller.

use std::sync::Arc;

/// Names of fields that are dropped when a peer sends them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedHeaders {
    /// Beginnings of names, lower case.
    pub prefixes: Arc<[String]>,
    /// Whole names, lower case.
    pub names: Arc<[String]>,
    /// So are names with other characters than letters, digits and `-`.
    pub unusual: bool,
}

impl ReservedHeaders {
    /// Whether a field of this name is dropped.
    pub fn contains(&self, name: &[u8]) -> bool {
        self.unusual && !is_usual_name(name)
            || self.prefixes.iter().any(|prefix| has_prefix(name, prefix.as_bytes()))
            || self.names.iter().any(|wanted| is_same_header(name, wanted.as_bytes()))
    }
}

/// Whether a name has letters, digits and `-` alone.
pub(crate) fn is_usual_name(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Whether two names are one for a receiver that cannot tell `-` from `_`.
pub(crate) fn is_same_header(name: &[u8], wanted: &[u8]) -> bool {
    name.len() == wanted.len() && has_prefix(name, wanted)
}

/// Whether a name begins with `prefix` for such a receiver.
pub(crate) fn has_prefix(name: &[u8], prefix: &[u8]) -> bool {
    let separator = |byte: u8| !byte.is_ascii_alphanumeric();
    let same = |(&a, &b): (&u8, &u8)| a.eq_ignore_ascii_case(&b) || separator(a) && separator(b);
    name.len() >= prefix.len() && name.iter().zip(prefix).all(same)
}

/// What servers are told of a client's certificate by RFC 9440.
const CLIENT_CERTIFICATE: [&str; 2] = ["client-cert", "client-cert-chain"];

/// Whether the name is one of RFC 9440.
pub(crate) fn is_client_certificate(name: &[u8]) -> bool {
    CLIENT_CERTIFICATE.iter().any(|wanted| is_same_header(name, wanted.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_reserved_name_is_that_name() {
        let reserved = ReservedHeaders {
            prefixes: vec!["x-client-cert".to_owned()].into(),
            names: vec!["x-remote-user".to_owned()].into(),
            unusual: false,
        };
        let unusual = ReservedHeaders { unusual: true, ..reserved.clone() };
        for name in ["X_Any", "x.any", "x~", "_", "x-any_"] {
            assert!(unusual.contains(name.as_bytes()), "{name}");
            assert!(!reserved.contains(name.as_bytes()), "{name}");
        }
        assert!(!unusual.contains(b"X-Any-1") && unusual.contains(b"x-remote-user"));
        for name in [
            "x-client-cert-verified",
            "X_Client_Cert_Verified",
            "X-CLIENT_CERT",
            "x.client.cert-subject",
            "x-client-certificate",
            "X_Remote_User",
            "x-remote_user",
        ] {
            assert!(reserved.contains(name.as_bytes()), "{name}");
        }
        for name in ["x-client", "x-remote-users", "xremote-user", "y-client-cert", ""] {
            assert!(!reserved.contains(name.as_bytes()), "{name}");
        }
        assert!(is_client_certificate(b"Client_Cert-Chain") && !is_client_certificate(b"client-c"));
    }
}
