//! The attacks of RFC 8725 §2, and others on readers of tokens.

use aws_lc_rs::hmac;
use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::refusal::JwtRefusal;
use serde_json::json;

use crate::issuer::{NOW, TestIssuer, encode, outcome, verifier, with_claims};

fn payload() -> String {
    with_claims(json!({})).to_string()
}

#[test]
fn no_spelling_of_none_is_an_algorithm() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let verifier = issuer.verifier();
    for name in ["none", "None", "NONE", "nOnE", "", "es256", "ES256 ", "ES256K", "HS256\u{0}"] {
        let header = json!({"alg": name, "kid": "1"}).to_string();
        let right = issuer.token_of(&header, &payload());
        assert_eq!(outcome(&verifier, &right), Err(JwtRefusal::Algorithm), "{name}");
        let bare = format!("{}.", right.rsplit_once('.').unwrap().0);
        assert_eq!(outcome(&verifier, &bare), Err(JwtRefusal::Algorithm), "{name}");
    }
    for header in [json!({"kid": "1"}), json!({"alg": null}), json!({"alg": ["ES256"]})] {
        let token = issuer.token_of(&header.to_string(), &payload());
        assert_eq!(outcome(&verifier, &token), Err(JwtRefusal::Malformed));
    }
    let unsigned = format!("{}.", issuer.token(json!({})).rsplit_once('.').unwrap().0);
    assert_eq!(outcome(&verifier, &unsigned), Err(JwtRefusal::Signature));
}

#[test]
fn a_public_key_is_never_taken_for_a_secret() {
    // RFC 8725 §2.1: the public key in the forms that an attacker could take it in.
    let issuer = TestIssuer::new(JwtAlgorithm::Rs256);
    let jwk = issuer.jwk(json!({"kid": "1"}));
    let all = verifier(&JwtAlgorithm::ALL, &json!({"keys": [jwk]}));
    let modulus = jwk["n"].as_str().unwrap();
    for secret in [jwk.to_string(), modulus.to_owned(), json!({"keys": [jwk]}).to_string()] {
        for (name, hash) in [("HS256", hmac::HMAC_SHA256), ("HS512", hmac::HMAC_SHA512)] {
            let header = encode(json!({"alg": name, "kid": "1"}).to_string().as_bytes());
            let signed = format!("{header}.{}", encode(payload().as_bytes()));
            let tag = hmac::sign(&hmac::Key::new(hash, secret.as_bytes()), signed.as_bytes());
            let token = format!("{signed}.{}", encode(tag.as_ref()));
            assert_eq!(outcome(&all, &token), Err(JwtRefusal::UnknownKey));
            assert_eq!(outcome(&issuer.verifier(), &token), Err(JwtRefusal::Algorithm));
        }
    }
}

#[test]
fn an_algorithm_that_is_not_named_is_refused_although_the_key_fits() {
    let issuer = TestIssuer::new(JwtAlgorithm::Rs256);
    let other = TestIssuer::new(JwtAlgorithm::Hs256);
    let keys = json!({"keys": [issuer.jwk(json!({})), other.jwk(json!({}))]});
    let token = issuer.token(json!({}));
    assert_eq!(outcome(&verifier(&[JwtAlgorithm::Rs256], &keys), &token), Ok(()));
    assert_eq!(
        outcome(&verifier(&[JwtAlgorithm::Ps256], &keys), &token),
        Err(JwtRefusal::Algorithm)
    );
    let public = verifier(&[JwtAlgorithm::Rs256, JwtAlgorithm::Es256], &keys);
    assert_eq!(outcome(&public, &other.token(json!({}))), Err(JwtRefusal::Algorithm));
}

#[test]
fn a_header_brings_no_keys_along() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let attacker = TestIssuer::new(JwtAlgorithm::Es256);
    let verifier = issuer.verifier();
    for id in [
        "1",
        "../../../../dev/null",
        "/proc/sys/kernel/randomize_va_space",
        "1' UNION SELECT 'a",
        "1|/usr/bin/id",
        "",
        "1\u{0}",
        "http://attacker.example/keys",
    ] {
        let header = json!({
            "alg": "ES256", "kid": id, "jwk": attacker.jwk(json!({"kid": id})),
            "jku": "https://attacker.example/keys", "x5u": "https://attacker.example/c", "x5c": ["AA"],
        });
        let token = attacker.token_of(&header.to_string(), &payload());
        let expected = if id == "1" { JwtRefusal::Signature } else { JwtRefusal::UnknownKey };
        assert_eq!(outcome(&verifier, &token), Err(expected), "{id}");
    }
    for id in [json!(1), json!(null), json!(["1"]), json!({"a": 1})] {
        let token = issuer.token_of(&json!({"alg": "ES256", "kid": id}).to_string(), &payload());
        assert_eq!(outcome(&verifier, &token), Err(JwtRefusal::Malformed), "{id}");
    }
}

#[test]
fn what_must_be_understood_and_is_not_is_refused() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let verifier = issuer.verifier();
    for more in [
        json!({"crit": ["exp"], "exp": NOW + 60}),
        json!({"crit": ["b64"], "b64": false}),
        json!({"crit": []}),
        json!({"crit": null}),
        json!({"cty": "JWT"}),
        json!({"cty": "jwt"}),
        json!({"cty": "application/jwt"}),
    ] {
        let mut header = json!({"alg": "ES256", "kid": "1"});
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let token = issuer.token_of(&header.to_string(), &payload());
        assert_eq!(outcome(&verifier, &token), Err(JwtRefusal::Malformed), "{more}");
    }
    let inner = issuer.token(json!({}));
    let nested = issuer.token_of(r#"{"alg":"ES256","kid":"1"}"#, &format!("\"{inner}\""));
    assert_eq!(outcome(&verifier, &nested), Err(JwtRefusal::Malformed));
}

#[test]
fn a_name_that_stands_twice_is_refused_in_header_and_claims() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let verifier = issuer.verifier();
    let header = r#"{"alg":"ES256","kid":"1"}"#;
    for (header, payload) in [
        (r#"{"alg":"none","alg":"ES256","kid":"1"}"#, payload()),
        (r#"{"alg":"ES256","kid":"2","kid":"1"}"#, payload()),
        (header, payload().replacen('{', "{\"sub\":\"root\",", 1)),
        (header, payload().replacen('{', "{\"x\":{\"a\":1,\"a\":2},", 1)),
        (header, "[]".to_owned()),
        (header, String::new()),
        (header, "\u{feff}{}".to_owned()),
    ] {
        let token = issuer.token_of(header, &payload);
        assert_eq!(outcome(&verifier, &token), Err(JwtRefusal::Malformed), "{header} {payload}");
    }
}

#[test]
fn other_forms_than_the_compact_one_are_refused() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let verifier = issuer.verifier();
    let token = issuer.token(json!({}));
    assert_eq!(outcome(&verifier, &token), Ok(()));
    let parts: Vec<&str> = token.split('.').collect();
    for bad in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        format!("{token}."),
        format!("{token}.{}.{}", parts[1], parts[2]),
        format!("{token}="),
        format!("{token} "),
        format!(" {token}"),
        format!("{token}\n"),
        token.replacen('.', "=.", 1),
        parts[..2].join("."),
        json!({"protected": parts[0], "payload": parts[1], "signature": parts[2]}).to_string(),
    ] {
        assert_eq!(outcome(&verifier, &bad), Err(JwtRefusal::Malformed), "{bad}");
    }
    assert!(verifier.verify(b"\xff.\x00.\x80", 0).is_err());
}

#[test]
fn a_huge_token_is_refused_before_it_is_read() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let huge = issuer.token(json!({"pad": "x".repeat(1 << 20)}));
    assert_eq!(outcome(&issuer.verifier(), &huge), Err(JwtRefusal::Malformed));
    assert_eq!(outcome(&issuer.verifier(), &".".repeat(1 << 20)), Err(JwtRefusal::Malformed));
    let large = issuer.token(json!({"pad": "x".repeat(11_000)}));
    assert_eq!(outcome(&issuer.verifier(), &large), Ok(()));
    let deep = issuer.token_of(
        r#"{"alg":"ES256","kid":"1"}"#,
        &payload().replacen(
            '{',
            &format!("{{\"a\":{}1{},", "[".repeat(5_000), "]".repeat(5_000)),
            1,
        ),
    );
    assert_eq!(outcome(&issuer.verifier(), &deep), Err(JwtRefusal::Malformed));
}

#[test]
fn a_key_of_another_curve_or_kind_checks_nothing() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es384);
    let mut jwk = issuer.jwk(json!({"kid": "1"}));
    let own = TestIssuer::new(JwtAlgorithm::Es256).jwk(json!({"kid": "2"}));
    jwk["crv"] = json!("P-256");
    let verifier = verifier(&JwtAlgorithm::ALL, &json!({"keys": [jwk, own]}));
    for name in ["ES256", "ES384", "ES512", "EdDSA", "RS256"] {
        let header = json!({"alg": name, "kid": "1"}).to_string();
        let token = issuer.token_of(&header, &payload());
        assert_eq!(outcome(&verifier, &token), Err(JwtRefusal::UnknownKey), "{name}");
    }
    // In DER, as other formats have them, and with an empty half.
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let token = issuer.token(json!({}));
    let (signed, _) = token.rsplit_once('.').unwrap();
    for signature in [vec![0; 64], vec![0x30; 70], vec![1; 63], Vec::new()] {
        let forged = format!("{signed}.{}", encode(&signature));
        assert_eq!(outcome(&issuer.verifier(), &forged), Err(JwtRefusal::Signature));
    }
}

#[test]
fn claims_of_one_token_are_not_those_of_another() {
    let issuer = TestIssuer::new(JwtAlgorithm::Es256);
    let ann = issuer.token(json!({}));
    let bob = issuer.token(json!({"sub": "bob"}));
    let part = |token: &str, at: usize| token.split('.').nth(at).unwrap().to_owned();
    let mixed = [part(&ann, 0), part(&bob, 1), part(&ann, 2)].join(".");
    assert_eq!(outcome(&issuer.verifier(), &mixed), Err(JwtRefusal::Signature));
}
