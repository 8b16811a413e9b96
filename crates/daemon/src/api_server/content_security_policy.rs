//! What a browser may load for the page, and for explained captures that the page shows.
//!
//! It knows no requests.

use std::sync::LazyLock;

use aws_lc_rs::digest::{SHA256, digest};
use axum::http::HeaderValue;

pub(super) fn page_policy() -> HeaderValue {
    POLICY.clone()
}

/// Only resources of this listener may be part of the page, and no page may frame it. Scripts and styles inside
/// explained captures are allowed by their digests: the page shows captures in an `iframe`.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let [style, script] = trace::render::page::inline_assets()
        .map(|text| base64(digest(&SHA256, text.as_bytes()).as_ref()));
    let policy = format!(
        "default-src 'none'; script-src 'self' 'sha256-{script}'; style-src 'self' 'sha256-{style}'; \
         img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
});

const BASE64_ALPHABET: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// RFC 4648 §4, of whole bytes with padding.
fn base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let at = |n: usize| u32::from(group.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = char::from(BASE64_ALPHABET[(bits >> (18 - 6 * place)) as usize & 63]);
            out.push(if place > group.len() { '=' } else { letter });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rfcs_vectors() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn nothing_from_elsewhere_and_nothing_unnamed_may_run() {
        let policy = page_policy();
        let policy = policy.to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self' 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
    }
}
