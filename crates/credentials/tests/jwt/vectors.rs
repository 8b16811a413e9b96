//! The examples of RFC 7515 appendix A, RFC 7519 §6.1, RFC 7517 appendix A and RFC 8037 appendix A.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use credentials::jwt::algorithm::JwtAlgorithm;
use credentials::jwt::claim_rules::ClaimRules;
use credentials::jwt::key_set::{JsonWebKeySet, SignatureCheck};
use credentials::jwt::refusal::JwtRefusal;
use credentials::jwt::verifier::JwtVerifier;

/// A.1.
const HS256_KEY: &str = r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#;
const HS256_TOKEN: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

/// A.2.
const RS256_KEY: &str = r#"{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}"#;
const RS256_TOKEN: &str = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

/// A.3.
const ES256_KEY: &str = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;
const ES256_TOKEN: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";

/// A.4, whose payload is no claims.
const ES512_KEY: &str = r#"{"kty":"EC","crv":"P-521","x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk","y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}"#;
const ES512_TOKEN: &str = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";

/// RFC 8037 A.4.
const ED25519_KEY: &str =
    r#"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
const ED25519_TOKEN: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

/// When the tokens of appendix A end, in milliseconds.
const END: u64 = 1_300_819_380_000;

fn verifier(key: &str) -> JwtVerifier {
    let rules = ClaimRules {
        issuers: vec!["joe".to_owned()],
        audiences: Vec::new(),
        required: Vec::new(),
        leeway_ms: 0,
    };
    let algorithms = JwtAlgorithm::ALL.to_vec();
    let set = format!("{{\"keys\":[{key}]}}");
    let keys = JsonWebKeySet::parse(set.as_bytes(), &algorithms).unwrap();
    JwtVerifier { algorithms, rules, keys }
}

#[test]
fn tokens_of_appendix_a_are_right_until_they_end() {
    for (key, token) in
        [(HS256_KEY, HS256_TOKEN), (RS256_KEY, RS256_TOKEN), (ES256_KEY, ES256_TOKEN)]
    {
        let right = verifier(key).verify(token.as_bytes(), END - 1).unwrap();
        assert_eq!(right.until_ms, END);
        assert_eq!(right.claims["http://example.com/is_root"], true);
        let ended = verifier(key).verify(token.as_bytes(), END);
        assert_eq!(ended, Err(JwtRefusal::Expired));
        for other in [HS256_KEY, RS256_KEY, ES256_KEY, ES512_KEY, ED25519_KEY] {
            if other != key {
                let wrong = verifier(other).verify(token.as_bytes(), END - 1);
                assert_eq!(wrong, Err(JwtRefusal::UnknownKey), "{token} {other}");
            }
        }
    }
}

#[test]
fn signatures_over_other_things_than_claims_are_right_and_let_nobody_in() {
    for (algorithm, key, token) in [
        (JwtAlgorithm::Es512, ES512_KEY, ES512_TOKEN),
        (JwtAlgorithm::EdDsa, ED25519_KEY, ED25519_TOKEN),
    ] {
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let mut signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        let verifier = verifier(key);
        let check =
            |signature: &[u8]| verifier.keys.check(algorithm, None, signed.as_bytes(), signature);
        assert_eq!(check(&signature), SignatureCheck::Right);
        assert_eq!(verifier.verify(token.as_bytes(), 0), Err(JwtRefusal::Malformed));
        signature[0] ^= 1;
        assert_eq!(check(&signature), SignatureCheck::Wrong);
    }
}

#[test]
fn an_unsecured_token_lets_nobody_in() {
    // RFC 7519 §6.1, RFC 7515 A.5.
    let token = "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.";
    for key in [HS256_KEY, RS256_KEY, ES256_KEY] {
        let refused = verifier(key).verify(token.as_bytes(), END - 1);
        assert_eq!(refused, Err(JwtRefusal::Algorithm));
    }
}

/// RFC 7517 A.1, whose first key is for encryption.
#[test]
fn a_set_has_keys_of_several_kinds() {
    let set = r#"{"keys":[
        {"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"},
        {"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":"RS256","kid":"2011-04-29"}]}"#;
    let keys = JsonWebKeySet::parse(set.as_bytes(), &JwtAlgorithm::ALL).unwrap();
    let check = |algorithm, id| keys.check(algorithm, Some(id), b"", b"");
    assert_eq!(check(JwtAlgorithm::Es256, "1"), SignatureCheck::NoKey, "it is for encryption");
    assert_eq!(check(JwtAlgorithm::Rs256, "2011-04-29"), SignatureCheck::Wrong);
    assert_eq!(check(JwtAlgorithm::Ps256, "2011-04-29"), SignatureCheck::NoKey);
    assert_eq!(check(JwtAlgorithm::Rs256, "1"), SignatureCheck::NoKey);
}
