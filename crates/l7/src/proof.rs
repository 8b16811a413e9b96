//! What a client has proven with its certificate, as lines of a request's head.
//!
//! It verifies nothing: the handshake has.

use std::fmt::Write;

use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Bytes of one value; what is longer is cut.
const VALUE: usize = 1_024;

/// `PREFIX-verified` and, where there is a certificate, `-subject`, `-names` and `-fingerprint`.
pub fn lines(chain: Option<&[CertificateDer<'_>]>, prefix: &str) -> Vec<u8> {
    let mut text = String::new();
    let mut line = |what: &str, value: &str| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{prefix}-{what}: {}\r\n", clean(value));
    };
    let Some(own) = chain.and_then(<[_]>::first) else {
        line("verified", "no");
        return text.into_bytes();
    };
    line("verified", "yes");
    if let Ok((_, certificate)) = X509Certificate::from_der(own) {
        line("subject", &certificate.subject().to_string());
        let names = names(&certificate).join(", ");
        if !names.is_empty() {
            line("names", &names);
        }
    }
    let digest = aws_lc_digest(own);
    line("fingerprint", &digest);
    text.into_bytes()
}

/// By what a client may be known: `dns:`, `email:`, `uri:` and `cn:` with what stands in its certificate.
pub fn claims(own: &CertificateDer<'_>) -> Vec<String> {
    let Ok((_, certificate)) = X509Certificate::from_der(own) else { return Vec::new() };
    let common = certificate.subject().iter_common_name();
    let common: Vec<String> =
        common.filter_map(|name| Some(format!("cn:{}", name.as_str().ok()?))).collect();
    [names(&certificate), common].concat()
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let mut names = Vec::new();
    for extension in certificate.extensions() {
        if let ParsedExtension::SubjectAlternativeName(alternative) = extension.parsed_extension() {
            names.extend(alternative.general_names.iter().filter_map(|name| match name {
                GeneralName::DNSName(name) => Some(format!("dns:{name}")),
                GeneralName::RFC822Name(name) => Some(format!("email:{name}")),
                GeneralName::URI(name) => Some(format!("uri:{name}")),
                _ => None,
            }));
        }
    }
    names
}

/// Visible ASCII and blanks alone: nothing in a certificate begins a line of its own.
fn clean(value: &str) -> String {
    let kept = |c: char| if c == ' ' || c.is_ascii_graphic() { c } else { '?' };
    value.chars().take(VALUE).map(kept).collect()
}

/// SHA-256 in hexadecimal.
fn aws_lc_digest(der: &[u8]) -> String {
    use rustls::crypto::aws_lc_rs::cipher_suite::TLS13_AES_128_GCM_SHA256;
    let Some(suite) = TLS13_AES_128_GCM_SHA256.tls13() else { return String::new() };
    let digest = suite.common.hash_provider.hash(der);
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests may fail")]

    use super::*;

    #[test]
    fn nobody_is_told_as_nobody() {
        assert_eq!(lines(None, "x-cert"), b"x-cert-verified: no\r\n");
    }

    #[test]
    fn a_name_cannot_begin_a_line() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "eve\r\nx-cert-verified: yes");
        let certificate = params.self_signed(&key).unwrap();
        let told = lines(Some(&[certificate.der().clone()]), "x-cert");
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.lines().count(), 4, "{told}");
        assert!(told.contains("x-cert-names: dns:a.example\r\n"), "{told}");
        assert!(told.contains("x-cert-subject: CN=eve??x-cert-verified: yes\r\n"), "{told}");
        let claims = claims(certificate.der());
        assert_eq!(claims[0], "dns:a.example");
        assert!(claims[1..].contains(&"cn:eve\r\nx-cert-verified: yes".to_owned()), "{claims:?}");
        assert!(super::claims(&b"nonsense".to_vec().into()).is_empty());
        let print =
            told.lines().find_map(|line| line.strip_prefix("x-cert-fingerprint: ")).unwrap();
        assert_eq!(print.len(), 64);
    }
}
