//! Maps handshake errors to causes and short names.

use model::cause::Cause;
use rustls::{AlertDescription, Error, PeerIncompatible};

/// Why a handshake with a client failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeCause {
    pub cause: Cause,
    /// A short name for the log.
    pub detail: &'static str,
}

impl HandshakeCause {
    /// A handshake that failed for a reason of TLS itself.
    pub const fn protocol(detail: &'static str) -> HandshakeCause {
        HandshakeCause { cause: Cause::TlsHandshake, detail }
    }

    const fn certificate(detail: &'static str) -> HandshakeCause {
        HandshakeCause { cause: Cause::ClientCertificate, detail }
    }

    const fn unknown_name() -> HandshakeCause {
        HandshakeCause { cause: Cause::TlsUnknownName, detail: "unknown-name" }
    }
}

/// The cause of a failed handshake with a client.
pub fn client_cause(error: &Error) -> HandshakeCause {
    match error {
        Error::NoCertificatesPresented => HandshakeCause::certificate("no-certificate"),
        Error::InvalidCertificate(why) => HandshakeCause::certificate(certificate_detail(why)),
        Error::AlertReceived(_) => HandshakeCause::protocol("client-refused"),
        Error::PeerIncompatible(PeerIncompatible::NoCipherSuitesInCommon) => {
            HandshakeCause::protocol("no-common-cipher")
        }
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::Tls12NotOffered
            | PeerIncompatible::Tls12NotOfferedOrEnabled
            | PeerIncompatible::Tls13RequiredForQuic
            | PeerIncompatible::SupportedVersionsExtensionRequired,
        ) => HandshakeCause::protocol("no-common-version"),
        Error::PeerIncompatible(_) => HandshakeCause::protocol("incompatible"),
        Error::NoApplicationProtocol => HandshakeCause::protocol("no-common-protocol"),
        Error::PeerMisbehaved(_) => HandshakeCause::protocol("misbehaved"),
        // The library's error for a name without a certificate.
        Error::General(text) if text.starts_with("no server certificate") => {
            HandshakeCause::unknown_name()
        }
        Error::InvalidMessage(_)
        | Error::InappropriateMessage { .. }
        | Error::InappropriateHandshakeMessage { .. }
        | Error::DecryptError => HandshakeCause::protocol("malformed"),
        _ => HandshakeCause::protocol("failed"),
    }
}

/// The cause of a handshake that the balancer ended with an alert: QUIC reports only its number (RFC 9001 §4.8).
pub fn alert_cause(alert: u8) -> HandshakeCause {
    match AlertDescription::from(alert) {
        AlertDescription::CertificateRequired => HandshakeCause::certificate("no-certificate"),
        AlertDescription::CertificateExpired => HandshakeCause::certificate("certificate-expired"),
        AlertDescription::CertificateRevoked => HandshakeCause::certificate("certificate-revoked"),
        AlertDescription::UnknownCA => HandshakeCause::certificate("certificate-unknown-issuer"),
        AlertDescription::UnsupportedCertificate => {
            HandshakeCause::certificate("certificate-not-for-clients")
        }
        AlertDescription::BadCertificate | AlertDescription::CertificateUnknown => {
            HandshakeCause::certificate("certificate-invalid")
        }
        // The library's alert for a name without a certificate.
        AlertDescription::AccessDenied => HandshakeCause::unknown_name(),
        AlertDescription::HandshakeFailure => HandshakeCause::protocol("incompatible"),
        AlertDescription::ProtocolVersion => HandshakeCause::protocol("no-common-version"),
        AlertDescription::NoApplicationProtocol => HandshakeCause::protocol("no-common-protocol"),
        AlertDescription::IllegalParameter | AlertDescription::UnexpectedMessage => {
            HandshakeCause::protocol("misbehaved")
        }
        AlertDescription::DecodeError | AlertDescription::DecryptError => {
            HandshakeCause::protocol("malformed")
        }
        _ => HandshakeCause::protocol("failed"),
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
            assert_eq!(alert_cause(alert), HandshakeCause { cause, detail }, "{alert}");
        }
    }
}
