//! Sets of keys: which are used, and which are passed over.

use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::key_set::{JsonWebKeySet, KeySetError};
use credentials::jwt::refusal::JwtRefusal;
use serde_json::{Value, json};

use crate::issuer::{TestIssuer, outcome, verifier};

fn parse(set: &str) -> Result<(), KeySetError> {
    JsonWebKeySet::parse(set.as_bytes(), &JwtAlgorithm::ALL).map(|_| ())
}

#[test]
fn each_algorithm_checks_its_own_signatures() {
    for algorithm in JwtAlgorithm::ALL {
        let issuer = TestIssuer::new(algorithm);
        let token = issuer.token(json!({}));
        assert_eq!(outcome(&issuer.verifier(), &token), Ok(()), "{algorithm:?}");
        let all = verifier(&JwtAlgorithm::ALL, &json!({"keys": [issuer.jwk(json!({}))]}));
        assert_eq!(outcome(&all, &token), Ok(()), "{algorithm:?}: a key without an id");
        assert!(all.algorithms.iter().all(|name| JwtAlgorithm::from_name(name.name()).is_some()));
    }
    let symmetric = JwtAlgorithm::ALL.iter().filter(|algorithm| algorithm.is_symmetric()).count();
    assert_eq!(symmetric, 3);
}

#[test]
fn keys_that_are_no_good_are_passed_over() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let good = issuer.jwk(json!({"kid": "1", "use": "sig", "alg": "ES256", "key_ops": ["verify"]}));
    let mut off_curve = issuer.jwk(json!({}));
    off_curve["y"] = off_curve["x"].clone();
    let mut short = issuer.jwk(json!({}));
    short["x"] = json!("AAAA");
    let short_rsa = json!({"kty": "RSA", "n": "q".repeat(171), "e": "AQAB"});
    let mut one = TestIssuer::new(JwtAlgorithm::Rs256).jwk(json!({}));
    one["e"] = json!("AQ");
    let bad = [
        json!({"kty": "new"}),
        json!({"kty": "RSA"}),
        json!({"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"}),
        json!({"kty": "OKP", "crv": "Ed448", "x": "AA"}),
        json!({"kty": "oct", "k": "c2hvcnQ"}),
        json!(7),
        off_curve,
        short,
        short_rsa,
        one,
        issuer.jwk(json!({"use": "enc"})),
        issuer.jwk(json!({"key_ops": ["sign"]})),
        issuer.jwk(json!({"alg": "ES384"})),
        issuer.jwk(json!({"alg": "ECDH-ES"})),
    ];
    for key in &bad {
        let alone = json!({"keys": [key]}).to_string();
        assert_eq!(parse(&alone), Err(KeySetError::NoKey), "{key}");
    }
    let keys: Vec<Value> = bad.into_iter().chain([good]).collect();
    let all = verifier(&JwtAlgorithm::ALL, &json!({ "keys": keys }));
    assert_eq!(outcome(&all, &issuer.token(json!({}))), Ok(()));
}

#[test]
fn what_is_no_set_is_refused_with_the_reason() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let key = issuer.jwk(json!({}));
    let many = json!({"keys": vec![key.clone(); 101]}).to_string();
    for (text, error) in [
        ("", KeySetError::NoSet),
        ("{}", KeySetError::NoSet),
        ("[]", KeySetError::NoSet),
        (r#"{"keys":{}}"#, KeySetError::NoSet),
        (r#"{"keys":[],"keys":[]}"#, KeySetError::NoSet),
        (r#"{"keys":[]}"#, KeySetError::NoKey),
        (&key.to_string(), KeySetError::NoSet),
        (&many, KeySetError::TooMany),
    ] {
        assert_eq!(parse(text), Err(error), "{text}");
    }
}

#[test]
fn an_id_chooses_the_key_and_without_one_a_few_are_tried() {
    let issuers: Vec<TestIssuer> = (0..5).map(|_| TestIssuer::new(JwtAlgorithm::Es256)).collect();
    let named = issuers.iter().enumerate().map(|(at, it)| it.jwk(json!({"kid": at.to_string()})));
    let keys: Vec<Value> = named.collect();
    let verifier = verifier(&[JwtAlgorithm::Es256], &json!({ "keys": keys }));
    let payload = crate::issuer::with_claims(json!({})).to_string();
    let token = |at: usize, header: Value| issuers[at].token_of(&header.to_string(), &payload);
    assert_eq!(outcome(&verifier, &token(4, json!({"alg": "ES256", "kid": "4"}))), Ok(()));
    let swapped = token(4, json!({"alg": "ES256", "kid": "3"}));
    assert_eq!(outcome(&verifier, &swapped), Err(JwtRefusal::Signature));
    let unknown = token(4, json!({"alg": "ES256", "kid": "5"}));
    assert_eq!(outcome(&verifier, &unknown), Err(JwtRefusal::UnknownKey));
    assert_eq!(outcome(&verifier, &token(3, json!({"alg": "ES256"}))), Ok(()));
    let beyond = token(4, json!({"alg": "ES256"}));
    assert_eq!(outcome(&verifier, &beyond), Err(JwtRefusal::Signature), "no fifth try");
}
