//! Formats a client's certificate as field lines of a request.
//!
//! Names are escaped so that no name looks like two names, or like another one. Subjects follow RFC 4514; in
//! alternative names, separators and invisible characters are written as `\XX`. The handshake has already verified the
//! certificate.

use std::fmt::Write;

use model::config::CertificateField;
use rustls::pki_types::CertificateDer;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::{FromDer, X509Certificate};

use self::distinguished_name::{format_name, hex};

mod distinguished_name;

/// Limit of a subject, and of all names together, in bytes. A longer subject is left out, and so are names that do not
/// fit: a truncated name would be another name.
/// Half of what nginx accepts for one field by default (large_client_header_buffers), because other fields need room.
const VALUE: usize = 4_096;

/// Limit of a forwarded chain in bytes; a longer one is left out.
/// A few certificates of usual size.
const CHAIN: usize = 16 * 1_024;

/// How client certificates are forwarded to servers.
#[derive(Clone, Debug)]
pub struct CertificateHeaders {
    /// The prefix of the field names.
    pub prefix: String,
    /// Whether servers get the certificate itself.
    pub certificate: CertificateField,
}

/// `PREFIX-verified` and, with a certificate, `-subject`, `-names`, `-fingerprint`, and the fields of RFC 9440.
pub fn certificate_lines(
    chain: Option<&[CertificateDer<'_>]>,
    terms: &CertificateHeaders,
) -> Vec<u8> {
    let mut text = String::new();
    let prefix = &terms.prefix;
    let mut line = |what: &str, value: &str| {
        // Writing into a String cannot fail.
        let _ = write!(text, "{prefix}-{what}: {value}\r\n");
    };
    let Some((own, others)) = chain.and_then(<[_]>::split_first) else {
        line("verified", "no");
        return text.into_bytes();
    };
    line("verified", "yes");
    if let Ok((_, certificate)) = X509Certificate::from_der(own) {
        let subject = format_name(certificate.subject());
        if subject.len() <= VALUE {
            line("subject", &subject);
        }
        let names = join_names(&names(&certificate));
        if !names.is_empty() {
            line("names", &names);
        }
    }
    line("fingerprint", &sha256_hex(own));
    if terms.certificate != CertificateField::Off {
        let _ = write!(text, "Client-Cert: {}\r\n", bytes_item(own));
    }
    if terms.certificate == CertificateField::Chain && !others.is_empty() {
        let items: Vec<String> = others.iter().map(|der| bytes_item(der)).collect();
        let items = items.join(", ");
        if items.len() <= CHAIN {
            let _ = write!(text, "Client-Cert-Chain: {items}\r\n");
        }
    }
    text.into_bytes()
}

/// Joins the names that fit. Commas, quotes, backslashes and all bytes that are not visible ASCII are written as `\XX`.
fn join_names(names: &[String]) -> String {
    let mut all = String::new();
    for name in names {
        let before = all.len();
        all.push_str(if all.is_empty() { "" } else { ", " });
        for byte in name.bytes() {
            match byte {
                b',' | b'"' | b'\\' => hex(byte, &mut all),
                _ if byte.is_ascii_graphic() => all.push(char::from(byte)),
                _ => hex(byte, &mut all),
            }
        }
        if all.len() > VALUE {
            all.truncate(before);
            break;
        }
    }
    all
}

/// A byte sequence as an item of a structured field (RFC 8941 §3.3.5).
fn bytes_item(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from(":");
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text.push(':');
    text
}

/// The identities in a certificate: `dns:`, `email:`, `uri:` and `cn:` with their values.
pub fn certificate_claims(own: &CertificateDer<'_>) -> Vec<String> {
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

fn sha256_hex(der: &[u8]) -> String {
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

    fn terms(certificate: CertificateField) -> CertificateHeaders {
        CertificateHeaders { prefix: "x-cert".to_owned(), certificate }
    }

    #[test]
    fn nobody_is_written_as_nobody() {
        assert_eq!(
            certificate_lines(None, &terms(CertificateField::Off)),
            b"x-cert-verified: no\r\n"
        );
    }

    #[test]
    fn a_name_cannot_begin_a_line() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "eve\r\nx-cert-verified: yes");
        let certificate = params.self_signed(&key).unwrap();
        let told =
            certificate_lines(Some(&[certificate.der().clone()]), &terms(CertificateField::Off));
        let told = String::from_utf8(told).unwrap();
        assert_eq!(told.lines().count(), 4, "{told}");
        assert!(told.contains("x-cert-names: dns:a.example\r\n"), "{told}");
        assert!(told.contains("x-cert-subject: CN=eve\\0D\\0Ax-cert-verified: yes\r\n"), "{told}");
        let claims = certificate_claims(certificate.der());
        assert_eq!(claims[0], "dns:a.example");
        assert!(claims[1..].contains(&"cn:eve\r\nx-cert-verified: yes".to_owned()), "{claims:?}");
        assert!(certificate_claims(&b"nonsense".to_vec().into()).is_empty());
        let print =
            told.lines().find_map(|line| line.strip_prefix("x-cert-fingerprint: ")).unwrap();
        assert_eq!(print.len(), 64);
    }

    #[test]
    fn no_name_looks_like_two_or_like_another_one() {
        let rows = [
            (&["dns:a.example", "uri:urn:x"][..], "dns:a.example, uri:urn:x"),
            (&["uri:urn:x, dns:admin.example"], "uri:urn:x\\2C\\20dns:admin.example"),
            (&["email:\"a,b\"@c.example"], "email:\\22a\\2Cb\\22@c.example"),
            (&["uri:x\\2C"], "uri:x\\5C2C"),
            (&["uri:caf\u{e9}"], "uri:caf\\C3\\A9"),
            (&["dns:a.example\0.b"], "dns:a.example\\00.b"),
        ];
        for (names, told) in rows {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(join_names(&names), told);
        }
        let long = "dns:".to_owned() + &"a".repeat(VALUE - 10);
        assert_eq!(
            join_names(&[long.clone(), "dns:b.example".to_owned()]),
            long,
            "whole names alone"
        );
        assert_eq!(join_names(&["x".repeat(VALUE + 1)]), "");
    }

    #[test]
    fn certificates_are_written_as_rfc_9440_has_them() {
        for (bytes, told) in [
            (&b""[..], "::"),
            (b"f", ":Zg==:"),
            (b"fo", ":Zm8=:"),
            (b"foo", ":Zm9v:"),
            (b"foobar", ":Zm9vYmFy:"),
            (&[0xfb, 0xff], ":+/8=:"),
        ] {
            assert_eq!(bytes_item(bytes), told);
        }
        let chain = [b"own".to_vec().into(), b"one".to_vec().into(), b"two".to_vec().into()];
        let told =
            |field| String::from_utf8(certificate_lines(Some(&chain), &terms(field))).unwrap();
        assert!(!told(CertificateField::Off).contains("Client-Cert"));
        let alone = told(CertificateField::Certificate);
        assert!(alone.ends_with("Client-Cert: :b3du:\r\n"), "{alone}");
        let all = told(CertificateField::Chain);
        assert!(
            all.ends_with("Client-Cert: :b3du:\r\nClient-Cert-Chain: :b25l:, :dHdv:\r\n"),
            "{all}"
        );
    }
}
