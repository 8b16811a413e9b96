//! Maps handshake errors to causes and short names.

use model::cause::Cause;
use rustls::{AlertDescription, Error, PeerIncompatible};

/// The cause of a failed handshake with a client, and its short name for the log.
pub fn client_cause(error: &Error) -> (Cause, &'static str) {
    match error {
        Error::NoCertificatesPresented => (Cause::ClientCertificate, "no-certificate"),
        Error::InvalidCertificate(why) => (Cause::ClientCertificate, certificate_detail(why)),
        Error::AlertReceived(_) => (Cause::TlsHandshake, "client-refused"),
        Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon) => {
            (Cause::TlsHandshake, "no-common-cipher")
        }
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => (Cause::TlsHandshake, "no-common-version"),
        Error::PeerIncompatible(_) => (Cause::TlsHandshake, "incompatible"),
        Error::NoApplicationProtocol => (Cause::TlsHandshake, "no-common-protocol"),
        Error::PeerMisbehaved(_) => (Cause::TlsHandshake, "misbehaved"),
        // The library's error for a name without a certificate.
        Error::General(text) if text.starts_with("no server certificate") => {
            (Cause::TlsUnknownName, "unknown-name")
        }
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::DecryptError => (Cause::TlsHandshake, "malformed"),
        _ => (Cause::TlsHandshake, "failed"),
    }
}

/// The cause of a handshake that the balancer ended with an alert: QUIC reports only its number (RFC 9001 §4.8).
pub fn alert_cause(alert: u8) -> (Cause, &'static str) {
    let certificate = |detail| (Cause::ClientCertificate, detail);
    match AlertDescription::from(alert) {
        AlertDescription::CertificateRequired => certificate("no-certificate"),
        AlertDescription::CertificateExpired => certificate("certificate-expired"),
        AlertDescription::CertificateRevoked => certificate("certificate-revoked"),
        AlertDescription::UnknownCA => certificate("certificate-unknown-issuer"),
        AlertDescription::UnsupportedCertificate => certificate("certificate-not-for-clients"),
        AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
            certificate("certificate-invalid")
        }
        // The library's alert for a name without a certificate.
        AlertDescription::AccessDenied => (Cause::TlsUnknownName, "unknown-name"),
        AlertDescription::HandshakeFailure => (Cause::TlsHandshake, "incompatible"),
        AlertDescription::ProtocolVersion => (Cause::TlsHandshake, "no-common-version"),
        AlertDescription::NoApplicationProtocol => (Cause::TlsHandshake, "no-common-protocol"),
        AlertDescription::IllegalParameter | AlertDescription::UnexpectedMessage => {
            (Cause::TlsHandshake, "misbehaved")
        }
        AlertDescription::DecodeError | AlertDescription::DecryptError => {
            (Cause::TlsHandshake, "malformed")
        }
        _ => (Cause::TlsHandshake, "failed"),
    }
}

/// The cause of a failed handshake with a server.
pub fn server_cause(error: &Error) -> Cause {
    match error {
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Cause::ServerCertificate,
        _ => Cause::ServerTls,
    }
}

fn certificate_detail(why: &rustls::CertificateError) -> &'static str {
    use rustls::CertificateError as E;
    match why {
        E::Expired | E::ExpiredContext { .. } => "certificate-expired",
        E::NotValidYet | E::NotValidYetContext { .. } => "certificate-not-valid-yet",
        E::Revoked => "certificate-revoked",
        E::UnknownRevocationStatus => "certificate-without-revocation-list",
        E::ExpiredRevocationList | E::ExpiredRevocationListContext { .. } => {
            "certificate-revocation-list-expired"
        }
        E::UnknownIssuer => "certificate-unknown-issuer",
        E::BadSignature => "certificate-bad-signature",
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "certificate-not-for-clients",
        _ => "certificate-invalid",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_reported_as_what_they_end() {
        for (alert, cause, detail) in [
            (116, Cause::ClientCertificate, "no-certificate"),
            (45, Cause::ClientCertificate, "certificate-expired"),
            (48, Cause::ClientCertificate, "certificate-unknown-issuer"),
            (49, Cause::TlsUnknownName, "unknown-name"),
            (120, Cause::TlsHandshake, "no-common-protocol"),
            (80, Cause::TlsHandshake, "failed"),
            (255, Cause::TlsHandshake, "failed"),
        ] {
            assert_eq!(alert_cause(alert), (cause, detail), "{alert}");
        }
    }
}
