//! Compares what a certificate allows its key to be used for (RFC 5280 §4.2.1.3, §4.2.1.12) with its actual use.
//!
//! Nothing is rejected here: that is up to the verifying peer, and not every peer checks.

use x509_parser::prelude::X509Certificate;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateUse {
    /// A server presents the certificate to its clients.
    Server,
    /// A client presents the certificate to servers.
    Client,
}

/// What a key may be used for. A certificate without restrictions allows everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPurposes {
    /// Its `extendedKeyUsage` has `serverAuth`.
    server: bool,
    /// Its `extendedKeyUsage` has `clientAuth`.
    client: bool,
    /// Its `keyUsage` has `digitalSignature`, which every handshake with forward secrecy needs.
    signs: bool,
}

impl KeyPurposes {
    /// The uses of a certificate's key. An extension that cannot be parsed does not restrict them.
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

    /// Why peers will reject the certificate in this use.
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
