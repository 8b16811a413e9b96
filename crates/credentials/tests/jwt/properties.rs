//! No token that differs from a right one is right, and no bytes do harm.

use std::sync::LazyLock;

use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::key_set::JsonWebKeySet;
use credentials::jwt::verifier::JwtVerifier;
use proptest::prelude::*;
use serde_json::json;

use crate::issuer::{NOW, TestIssuer};

struct RightToken {
    verifier: JwtVerifier,
    token: String,
}

static RIGHT: LazyLock<Vec<RightToken>> = LazyLock::new(|| {
    ["ES256", "RS256", "PS256", "EdDSA", "HS256"]
        .map(|name| {
            let issuer = TestIssuer::new(JwtAlgorithm::from_name(name).unwrap());
            RightToken { verifier: issuer.verifier(), token: issuer.token(json!({"n": 1})) }
        })
        .into()
});

proptest! {
    #[test]
    fn no_mutated_token_is_right(
        which in 0..5usize,
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        kind in 0..4u8,
    ) {
        let RightToken { verifier, token } = &RIGHT[which];
        let mut bytes = token.clone().into_bytes();
        let at = at.index(bytes.len());
        match kind {
            0 => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
        let is_right = verifier.verify(&bytes, NOW * 1000).is_ok();
        prop_assert_eq!(is_right, bytes == token.as_bytes());
    }

    #[test]
    fn any_bytes_are_refused_and_do_no_harm(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        text in "[-_A-Za-z0-9.{}\":,]{0,400}",
    ) {
        for RightToken { verifier, .. } in RIGHT.iter() {
            prop_assert!(verifier.verify(&bytes, 0).is_err());
            prop_assert!(verifier.verify(text.as_bytes(), 0).is_err());
        }
        prop_assert!(JsonWebKeySet::parse(&bytes, &JwtAlgorithm::ALL).is_err());
    }
}
