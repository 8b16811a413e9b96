//! Algorithms of signatures (RFC 7518 §3.1, RFC 8037 §3.1). There is none without a key.

use aws_lc_rs::hmac::{self, HMAC_SHA256, HMAC_SHA384, HMAC_SHA512};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ECDSA_P521_SHA512_FIXED,
    EcdsaVerificationAlgorithm, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384,
    RSA_PSS_2048_8192_SHA512, RsaParameters,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JwtAlgorithm {
    Hs256,
    Hs384,
    Hs512,
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    Es512,
    EdDsa,
}

impl JwtAlgorithm {
    pub const ALL: [JwtAlgorithm; 13] = [
        JwtAlgorithm::Hs256,
        JwtAlgorithm::Hs384,
        JwtAlgorithm::Hs512,
        JwtAlgorithm::Rs256,
        JwtAlgorithm::Rs384,
        JwtAlgorithm::Rs512,
        JwtAlgorithm::Ps256,
        JwtAlgorithm::Ps384,
        JwtAlgorithm::Ps512,
        JwtAlgorithm::Es256,
        JwtAlgorithm::Es384,
        JwtAlgorithm::Es512,
        JwtAlgorithm::EdDsa,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            JwtAlgorithm::Hs256 => "HS256",
            JwtAlgorithm::Hs384 => "HS384",
            JwtAlgorithm::Hs512 => "HS512",
            JwtAlgorithm::Rs256 => "RS256",
            JwtAlgorithm::Rs384 => "RS384",
            JwtAlgorithm::Rs512 => "RS512",
            JwtAlgorithm::Ps256 => "PS256",
            JwtAlgorithm::Ps384 => "PS384",
            JwtAlgorithm::Ps512 => "PS512",
            JwtAlgorithm::Es256 => "ES256",
            JwtAlgorithm::Es384 => "ES384",
            JwtAlgorithm::Es512 => "ES512",
            JwtAlgorithm::EdDsa => "EdDSA",
        }
    }

    /// Names are case-sensitive. `Ed25519` is the name that says the curve too (RFC 9864).
    pub fn from_name(name: &str) -> Option<JwtAlgorithm> {
        match name {
            "Ed25519" => Some(JwtAlgorithm::EdDsa),
            _ => JwtAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name),
        }
    }

    /// Whether whoever checks a signature can make one, too.
    pub fn is_symmetric(self) -> bool {
        self.hmac().is_some()
    }

    pub(super) fn hmac(self) -> Option<hmac::Algorithm> {
        match self {
            JwtAlgorithm::Hs256 => Some(HMAC_SHA256),
            JwtAlgorithm::Hs384 => Some(HMAC_SHA384),
            JwtAlgorithm::Hs512 => Some(HMAC_SHA512),
            _ => None,
        }
    }

    pub(super) fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            JwtAlgorithm::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            JwtAlgorithm::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            JwtAlgorithm::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            JwtAlgorithm::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
            JwtAlgorithm::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
            JwtAlgorithm::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
            _ => None,
        }
    }

    pub(super) fn ecdsa(self) -> Option<CurveAlgorithm> {
        let made = |curve, coordinate_bytes, algorithm| {
            Some(CurveAlgorithm { curve, coordinate_bytes, algorithm })
        };
        match self {
            JwtAlgorithm::Es256 => made("P-256", 32, &ECDSA_P256_SHA256_FIXED),
            JwtAlgorithm::Es384 => made("P-384", 48, &ECDSA_P384_SHA384_FIXED),
            JwtAlgorithm::Es512 => made("P-521", 66, &ECDSA_P521_SHA512_FIXED),
            _ => None,
        }
    }
}

/// The one curve of an algorithm (RFC 7518 §3.4).
pub(super) struct CurveAlgorithm {
    pub curve: &'static str,
    pub coordinate_bytes: usize,
    pub algorithm: &'static EcdsaVerificationAlgorithm,
}
