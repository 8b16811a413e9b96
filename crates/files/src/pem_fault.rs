//! What is wrong with a text that should be PEM (RFC 7468), in plain words and with the command that mends it. Pure.

use std::fmt;

/// Why a file holds no usable PEM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PemFault {
    Empty,
    /// A binary certificate or key (X.690).
    Der,
    /// A binary archive of certificates and keys (RFC 7292).
    Pkcs12,
    /// A private key under a passphrase.
    EncryptedKey,
    /// Certificates in one signed message (RFC 2315).
    Pkcs7,
    CertificateRequest,
    SshKey,
    /// A part that begins at this line, from 1, and does not end.
    Unclosed(usize),
    /// This line, from 1, has other characters than base64.
    NotBase64(usize),
    /// No part of any of these kinds.
    Absent,
}

/// The beginning of a binary sequence whose length has one, two or three bytes.
const SEQUENCES: [&[u8]; 3] = [&[0x30, 0x81], &[0x30, 0x82], &[0x30, 0x83]];
/// Version 3, with which every PKCS #12 archive begins (RFC 7292 §4).
const VERSION_3: &[u8] = &[0x02, 0x01, 0x03];
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

impl PemFault {
    /// The first reason why no certificate and no key can be read of this text.
    pub fn find(text: &[u8]) -> PemFault {
        if text.trim_ascii().is_empty() {
            return PemFault::Empty;
        }
        if let Some(fault) = find_binary(text) {
            return fault;
        }
        let text = String::from_utf8_lossy(text);
        find_damage(&text).or_else(|| find_other_kind(&text)).unwrap_or(PemFault::Absent)
    }
}

fn find_binary(text: &[u8]) -> Option<PemFault> {
    let length_bytes = SEQUENCES.iter().position(|begin| text.starts_with(begin))? + 1;
    let content = text.get(2 + length_bytes..)?;
    Some(if content.starts_with(VERSION_3) { PemFault::Pkcs12 } else { PemFault::Der })
}

/// A part that is cut off or is not base64, or a key whose header says that it is encrypted (RFC 1421 §4.6.1.1).
fn find_damage(text: &str) -> Option<PemFault> {
    let mut begun = None;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with(BEGIN) {
            if let Some(before) = begun.replace(at + 1) {
                return Some(PemFault::Unclosed(before));
            }
        } else if line.starts_with(END) {
            begun = None;
        } else if begun.is_some() {
            if line.starts_with("Proc-Type:") && line.contains("ENCRYPTED") {
                return Some(PemFault::EncryptedKey);
            }
            let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
            if !line.contains(':') && !line.bytes().all(is_base64) {
                return Some(PemFault::NotBase64(at + 1));
            }
        }
    }
    begun.map(PemFault::Unclosed)
}

fn find_other_kind(text: &str) -> Option<PemFault> {
    let has = |kind: &str| text.contains(&format!("{BEGIN}{kind}-----"));
    let kinds = [
        ("ENCRYPTED PRIVATE KEY", PemFault::EncryptedKey),
        ("PKCS7", PemFault::Pkcs7),
        ("CERTIFICATE REQUEST", PemFault::CertificateRequest),
        ("NEW CERTIFICATE REQUEST", PemFault::CertificateRequest),
        ("OPENSSH PRIVATE KEY", PemFault::SshKey),
    ];
    kinds.into_iter().find(|(kind, _)| has(kind)).map(|(_, fault)| fault)
}

impl fmt::Display for PemFault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            PemFault::Empty => "the file is empty",
            PemFault::Der => {
                "it is binary (DER); `openssl x509 -inform der -in FILE`, and `openssl pkey` for a key, write it as PEM"
            }
            PemFault::Pkcs12 => {
                "it is a PKCS #12 archive; `openssl pkcs12 -in FILE -nodes` writes certificate and key as PEM"
            }
            PemFault::EncryptedKey => {
                "the private key is encrypted, and no passphrase can be given; `openssl pkey -in FILE` writes it without"
            }
            PemFault::Pkcs7 => {
                "it is a PKCS #7 message; `openssl pkcs7 -in FILE -print_certs` writes its certificates as PEM"
            }
            PemFault::CertificateRequest => {
                "it has a request for a certificate; expected the certificate that the authority made of it"
            }
            PemFault::SshKey => {
                "it has a key of SSH; expected one of TLS, as `openssl genpkey` makes it"
            }
            PemFault::Unclosed(line) => {
                return write!(
                    to,
                    "what begins in line {line} has no `-----END` line: the file was cut off"
                );
            }
            PemFault::NotBase64(line) => {
                return write!(to, "line {line} is not base64: the file is damaged");
            }
            PemFault::Absent => "expected PEM, with lines such as `-----BEGIN CERTIFICATE-----`",
        };
        to.write_str(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n";

    #[test]
    fn each_kind_of_fault_is_found() {
        let part = |kind: &str, body: &str| {
            format!("note: a\n-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n")
        };
        let certificate = part("CERTIFICATE", "MIIB+/==");
        let rows = [
            (" \n".to_owned(), PemFault::Empty),
            ("garbage".to_owned(), PemFault::Absent),
            (certificate.clone(), PemFault::Absent),
            (CUT.to_owned(), PemFault::Unclosed(1)),
            (format!("{CUT}{certificate}"), PemFault::Unclosed(1)),
            (part("CERTIFICATE", "MI!B"), PemFault::NotBase64(3)),
            (
                format!("{certificate}{}", part("ENCRYPTED PRIVATE KEY", "MIIB")),
                PemFault::EncryptedKey,
            ),
            (
                part("EC PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\nMIIB"),
                PemFault::EncryptedKey,
            ),
            (part("PKCS7", "MIIB"), PemFault::Pkcs7),
            (part("CERTIFICATE REQUEST", "MIIB"), PemFault::CertificateRequest),
            (part("OPENSSH PRIVATE KEY", "b3Bl"), PemFault::SshKey),
        ];
        for (text, fault) in rows {
            assert_eq!(PemFault::find(text.as_bytes()), fault, "{text}");
        }
        for (bytes, fault) in [
            (&b"\x30\x82\x01\x02\x30\x81\xd3"[..], PemFault::Der),
            (b"\x30\x82\x04\x11\x02\x01\x03\x30", PemFault::Pkcs12),
            (b"\x30\x81\x90\x02\x01\x03\x30", PemFault::Pkcs12),
            (b"\x30\x82", PemFault::Absent),
        ] {
            assert_eq!(PemFault::find(bytes), fault, "{bytes:?}");
        }
    }

    #[test]
    fn a_message_says_what_to_do() {
        assert!(PemFault::EncryptedKey.to_string().contains("`openssl pkey -in FILE`"));
        assert_eq!(PemFault::NotBase64(7).to_string(), "line 7 is not base64: the file is damaged");
    }
}
