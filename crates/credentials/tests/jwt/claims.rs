//! What claims must say, and when they hold.

use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::claim_rules::ClaimCondition;
use credentials::jwt::refusal::JwtRefusal;
use credentials::jwt::verifier::JwtVerifier;
use serde_json::{Value, json};

use crate::issuer::{NOW, TestIssuer, outcome, with_claims};

fn check(verifier: &JwtVerifier, claims: Value) -> Result<(), JwtRefusal> {
    let rules = &verifier.rules;
    rules.check(with_claims(claims).as_object().unwrap(), NOW * 1000).map(|_| ())
}

fn verifier() -> JwtVerifier {
    TestIssuer::new(JwtAlgorithm::Es256).verifier()
}

#[test]
fn times_hold_with_the_leeway_and_no_longer() {
    let mut verifier = verifier();
    for (leeway, claims, expected) in [
        (0, json!({"exp": NOW + 1}), Ok(())),
        (0, json!({"exp": NOW}), Err(JwtRefusal::Expired)),
        (0, json!({"exp": NOW as f64 + 0.5}), Ok(())),
        (5, json!({"exp": NOW - 4}), Ok(())),
        (5, json!({"exp": NOW - 5}), Err(JwtRefusal::Expired)),
        (0, json!({"exp": 0}), Err(JwtRefusal::Expired)),
        (0, json!({"exp": 253402300799u64}), Ok(())),
        (0, json!({"exp": null}), Err(JwtRefusal::Malformed)),
        (0, json!({"exp": NOW.to_string()}), Err(JwtRefusal::Malformed)),
        (0, json!({"exp": -1}), Err(JwtRefusal::Malformed)),
        (0, json!({"exp": 1e300}), Err(JwtRefusal::Malformed)),
        (0, json!({"exp": [NOW + 60]}), Err(JwtRefusal::Malformed)),
        (0, json!({"nbf": NOW}), Ok(())),
        (0, json!({"nbf": NOW + 1}), Err(JwtRefusal::NotYetValid)),
        (5, json!({"nbf": NOW + 5}), Ok(())),
        (5, json!({"nbf": NOW + 6}), Err(JwtRefusal::NotYetValid)),
        (0, json!({"nbf": "soon"}), Err(JwtRefusal::Malformed)),
        (0, json!({"iat": NOW + 9}), Ok(())),
    ] {
        verifier.rules.leeway_ms = leeway * 1000;
        assert_eq!(check(&verifier, claims.clone()), expected, "{claims}");
    }
    let mut without = with_claims(json!({}));
    without.as_object_mut().unwrap().remove("exp");
    let refused = verifier.rules.check(without.as_object().unwrap(), 0);
    assert_eq!(refused, Err(JwtRefusal::Claim), "it would never end");
}

#[test]
fn a_token_is_from_a_known_issuer_and_for_us() {
    let mut verifier = verifier();
    for (claims, expected) in [
        (json!({"iss": "them"}), Ok(())),
        (json!({"iss": "Us"}), Err(JwtRefusal::Issuer)),
        (json!({"iss": "us/"}), Err(JwtRefusal::Issuer)),
        (json!({"iss": ["us"]}), Err(JwtRefusal::Issuer)),
        (json!({"iss": null}), Err(JwtRefusal::Issuer)),
        (json!({"aud": ["x", "app"]}), Ok(())),
        (json!({"aud": "shop2"}), Err(JwtRefusal::Audience)),
        (json!({"aud": []}), Err(JwtRefusal::Audience)),
        (json!({"aud": ["shop", 1]}), Err(JwtRefusal::Audience)),
        (json!({"aud": {"shop": 1}}), Err(JwtRefusal::Audience)),
        (json!({"aud": null}), Err(JwtRefusal::Audience)),
    ] {
        assert_eq!(check(&verifier, claims.clone()), expected, "{claims}");
    }
    verifier.rules.audiences.clear();
    assert_eq!(check(&verifier, json!({})), Err(JwtRefusal::Audience), "it is for somebody else");
    let mut without = with_claims(json!({}));
    without.as_object_mut().unwrap().remove("aud");
    assert!(verifier.rules.check(without.as_object().unwrap(), 0).is_ok());
}

#[test]
fn required_claims_are_there_with_their_values() {
    let mut verifier = verifier();
    for (condition, claims, is_met) in [
        ("tenant", json!({"tenant": ""}), true),
        ("tenant", json!({}), false),
        ("tenant", json!({"tenant": null}), false),
        ("scope: read", json!({"scope": "write read"}), true),
        ("scope: read", json!({"scope": "readonly spread"}), false),
        ("scope: read", json!({"scope": ["read"]}), true),
        ("name: read", json!({"name": "write read"}), false),
        ("admin: true", json!({"admin": true}), true),
        ("admin: true", json!({"admin": "false"}), false),
        ("level: 3", json!({"level": 3}), true),
        ("/realm/roles: ops", json!({"realm": {"roles": ["dev", "ops"]}}), true),
        ("/realm/roles: op", json!({"realm": {"roles": ["dev", "ops"]}}), false),
        ("/realm/roles: ops", json!({"/realm/roles": "ops"}), false),
        ("https://a.example/role: x", json!({"https://a.example/role": "x"}), true),
    ] {
        verifier.rules.required = vec![ClaimCondition::parse(condition)];
        let expected = if is_met { Ok(()) } else { Err(JwtRefusal::Claim) };
        assert_eq!(check(&verifier, claims.clone()), expected, "{condition} {claims}");
    }
}

#[test]
fn a_wrong_signature_is_told_before_any_claim() {
    let issuer = TestIssuer::new(JwtAlgorithm::EdDsa);
    let other = TestIssuer::new(JwtAlgorithm::EdDsa);
    let token = other.token(json!({"exp": 1, "iss": "attacker"}));
    assert_eq!(outcome(&issuer.verifier(), &token), Err(JwtRefusal::Signature));
}
