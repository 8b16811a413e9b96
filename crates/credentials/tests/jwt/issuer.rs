//! An issuer of tokens with keys of its own.

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair as RsaKeys, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair,
    RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384,
    RSA_PSS_SHA512, RsaEncoding,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::claim_rules::ClaimRules;
use credentials::jwt::key_set::JsonWebKeySet;
use credentials::jwt::refusal::JwtRefusal;
use credentials::jwt::verifier::JwtVerifier;
use serde_json::{Value, json};

/// The time of all tests, in seconds.
pub const NOW: u64 = 1_800_000_000;

pub struct TestIssuer {
    algorithm: JwtAlgorithm,
    key: SigningKey,
}

enum SigningKey {
    Curve(EcdsaKeyPair),
    Edwards(Ed25519KeyPair),
    Rsa(Box<RsaKeys>),
    Secret(Vec<u8>),
}

impl TestIssuer {
    pub fn new(algorithm: JwtAlgorithm) -> TestIssuer {
        let curve = |signing: &'static EcdsaSigningAlgorithm| {
            SigningKey::Curve(EcdsaKeyPair::generate(signing).unwrap())
        };
        let key = match algorithm.name() {
            "ES256" => curve(&ECDSA_P256_SHA256_FIXED_SIGNING),
            "ES384" => curve(&ECDSA_P384_SHA384_FIXED_SIGNING),
            "ES512" => curve(&ECDSA_P521_SHA512_FIXED_SIGNING),
            "EdDSA" => SigningKey::Edwards(Ed25519KeyPair::generate().unwrap()),
            name if name.starts_with("HS") => SigningKey::Secret(vec![7; 64]),
            _ => SigningKey::Rsa(Box::new(RsaKeys::generate(KeySize::Rsa2048).unwrap())),
        };
        TestIssuer { algorithm, key }
    }

    /// Its key as a JWK with these further members.
    pub fn jwk(&self, more: Value) -> Value {
        let mut key = match &self.key {
            SigningKey::Curve(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let curve = match x.len() {
                    32 => "P-256",
                    48 => "P-384",
                    _ => "P-521",
                };
                json!({"kty": "EC", "crv": curve, "x": encode(x), "y": encode(y)})
            }
            SigningKey::Edwards(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key().as_ref())})
            }
            SigningKey::Rsa(pair) => {
                // In DER (RFC 8017 §A.1.1): before the exponent, which is 65537, stands the modulus.
                let der = pair.public_key().as_ref();
                let (modulus, exponent) = der.split_at(der.len() - 5);
                assert_eq!(exponent, [2, 3, 1, 0, 1]);
                let modulus = &modulus[modulus.len() - pair.public_modulus_len()..];
                json!({"kty": "RSA", "n": encode(modulus), "e": "AQAB"})
            }
            SigningKey::Secret(secret) => json!({"kty": "oct", "k": encode(secret)}),
        };
        key.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        key
    }

    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.key {
            SigningKey::Curve(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            SigningKey::Edwards(pair) => pair.sign(message).as_ref().to_vec(),
            SigningKey::Rsa(pair) => {
                let padding: &dyn RsaEncoding = match self.algorithm.name() {
                    "RS256" => &RSA_PKCS1_SHA256,
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    _ => &RSA_PSS_SHA512,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signature).unwrap();
                signature
            }
            SigningKey::Secret(secret) => {
                let hash = match self.algorithm.name() {
                    "HS256" => hmac::HMAC_SHA256,
                    "HS384" => hmac::HMAC_SHA384,
                    _ => hmac::HMAC_SHA512,
                };
                hmac::sign(&hmac::Key::new(hash, secret), message).as_ref().to_vec()
            }
        }
    }

    /// A token with this header and payload as text.
    pub fn token_of(&self, header: &str, payload: &str) -> String {
        let signed = format!("{}.{}", encode(header.as_bytes()), encode(payload.as_bytes()));
        let signature = encode(&self.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// A right token: the claims that are needed, and these.
    pub fn token(&self, claims: Value) -> String {
        let header = json!({"alg": self.algorithm.name(), "kid": "1", "typ": "JWT"});
        self.token_of(&header.to_string(), &with_claims(claims).to_string())
    }

    /// A verifier that accepts its tokens.
    pub fn verifier(&self) -> JwtVerifier {
        verifier(&[self.algorithm], &json!({"keys": [self.jwk(json!({"kid": "1"}))]}))
    }
}

/// The claims that are needed, and these.
pub fn with_claims(claims: Value) -> Value {
    let mut all = json!({"iss": "us", "aud": "shop", "sub": "ann", "exp": NOW + 60});
    all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    all
}

pub fn rules() -> ClaimRules {
    ClaimRules {
        issuers: vec!["us".to_owned(), "them".to_owned()],
        audiences: vec!["shop".to_owned(), "app".to_owned()],
        required: Vec::new(),
        leeway_ms: 0,
    }
}

pub fn verifier(algorithms: &[JwtAlgorithm], keys: &Value) -> JwtVerifier {
    let set = JsonWebKeySet::parse(keys.to_string().as_bytes(), algorithms).unwrap();
    JwtVerifier { algorithms: algorithms.to_vec(), rules: rules(), keys: set }
}

/// The outcome of a token now.
pub fn outcome(verifier: &JwtVerifier, token: &str) -> Result<(), JwtRefusal> {
    verifier.verify(token.as_bytes(), NOW * 1000).map(|_| ())
}

pub fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
