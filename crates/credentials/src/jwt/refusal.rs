//! Why a token lets nobody in.

/// The reason of a refusal. None says anything about keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtRefusal {
    #[error("there is no token")]
    Absent,
    /// No compact form, no JSON, an extension that must be understood, or a token in the token.
    #[error("the token is malformed")]
    Malformed,
    #[error("the algorithm of the signature is not accepted")]
    Algorithm,
    #[error("the key of the signature is unknown")]
    UnknownKey,
    #[error("the signature is wrong")]
    Signature,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYetValid,
    #[error("the token is of another issuer")]
    Issuer,
    #[error("the token is for another audience")]
    Audience,
    /// A required claim is missing or has another value, or a claim cannot be a field.
    #[error("the token lacks a claim")]
    Claim,
}

impl JwtRefusal {
    pub const ALL: [JwtRefusal; 10] = [
        JwtRefusal::Absent,
        JwtRefusal::Malformed,
        JwtRefusal::Algorithm,
        JwtRefusal::UnknownKey,
        JwtRefusal::Signature,
        JwtRefusal::Expired,
        JwtRefusal::NotYetValid,
        JwtRefusal::Issuer,
        JwtRefusal::Audience,
        JwtRefusal::Claim,
    ];
}
