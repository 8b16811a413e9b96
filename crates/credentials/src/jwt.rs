//! JSON Web Tokens (RFC 7519) signed as RFC 7515 says, in compact form. Encrypted and nested tokens are none.

pub mod algorithm;
pub mod claim_path;
pub mod claim_rules;
mod compact_token;
mod json_object;
pub mod key_set;
pub mod refusal;
pub mod verifier;
