//! An issuer of tokens with one key, and the file of its key.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub struct TestIssuer {
    pair: EcdsaKeyPair,
    key_id: &'static str,
}

impl TestIssuer {
    pub fn new(key_id: &'static str) -> TestIssuer {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        TestIssuer { pair, key_id }
    }

    /// Its key as a set.
    pub fn key_set(&self) -> String {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let key = json!({
            "kty": "EC", "crv": "P-256", "kid": self.key_id, "x": encode(x), "y": encode(y),
        });
        json!({ "keys": [key] }).to_string()
    }

    /// A token that ends in a minute, with these claims in the place of or beside the usual ones.
    pub fn token(&self, claims: Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let mut all = json!({
            "iss": "https://accounts.example", "aud": "shop", "sub": "ann", "exp": now + 60,
        });
        all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
        let header = json!({"alg": "ES256", "kid": self.key_id});
        self.sign(&header, &all)
    }

    pub fn sign(&self, header: &Value, claims: &Value) -> String {
        let part = |value: &Value| encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(header), part(claims));
        let signature = self.pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", encode(signature.as_ref()))
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}
