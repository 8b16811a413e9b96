//! What a certificate says that its key is for (RFC 5280 §4.2.1.3, §4.2.1.12), against what it is used as.
//!
//! It refuses nothing: who verifies it does, and not everybody looks.

use x509_parser::prelude::X509Certificate;

/// The use of a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateUse {
    /// A server shows it to its clients.
    Server,
    /// A client shows it to servers.
    Client,
}

/// What a key may be used for; where a certificate says nothing of it, for everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPurposes {
    /// Its `extendedKeyUsage` has `serverAuth`.
    server: bool,
    /// Its `extendedKeyUsage` has `clientAuth`.
    client: bool,
    /// Its `keyUsage` has `digitalSignature`, which each handshake with forward secrecy is made with.
    signs: bool,
}

impl KeyPurposes {
    /// Of a certificate. An extension that cannot be read says nothing here.
    pub(super) fn from_certificate(certificate: &X509Certificate<'_>) -> KeyPurposes {
        let usage = certificate.key_usage().ok().flatten();
        let extended = certificate.extended_key_usage().ok().flatten();
        let extended = extended.map(|extension| extension.value);
        KeyPurposes {
            server: extended.is_none_or(|it| it.any || it.server_auth),
            client: extended.is_none_or(|it| it.any || it.client_auth),
            signs: usage.is_none_or(|extension| extension.value.digital_signature()),
        }
    }

    /// Why others will refuse the certificate when it is used so.
    pub fn misuse(self, used: CertificateUse) -> Option<&'static str> {
        let (named, unnamed) = match used {
            CertificateUse::Server => (
                self.server,
                "its extendedKeyUsage does not have serverAuth, so clients that verify it refuse it; expected a \
                 certificate made for servers",
            ),
            CertificateUse::Client => (
                self.client,
                "its extendedKeyUsage does not have clientAuth, so servers that verify it refuse it; expected a \
                 certificate made for clients",
            ),
        };
        let unsigned = "its keyUsage does not have digitalSignature, which every handshake needs here; expected a \
                        certificate that has it";
        (!named).then_some(unnamed).or((!self.signs).then_some(unsigned))
    }
}
