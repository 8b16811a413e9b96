//! The keys of `[auth.NAME]` in a comparison.

use super::types::AuthConfig;
use crate::config::changed_keys::changed_keys;

changed_keys! {
    AuthKey of AuthConfig besides (name):
    Kind = "kind" => kind,
    File = "file" => file,
    Realm = "realm" => realm,
    Header = "header" => header,
    Query = "query" => query,
    UserField = "user-field" => user_field,
    KeepCredentials = "keep-credentials" => keep_credentials,
    Cache = "cache" => cache,
    Cookie = "cookie" => cookie,
    JwksUrl = "jwks-url" => jwks_url,
    Ca = "ca" => ca,
    Refresh = "refresh" => refresh,
    Keep = "max-stale" => keep,
    Algorithms = "algorithms" => algorithms,
    Issuer = "issuer" => issuer,
    Audience = "audience" => audience,
    Leeway = "leeway" => leeway,
    RequiredClaims = "required-claims" => required_claims,
    ClaimFields = "claim-fields" => claim_fields,
    Pool = "pool" => pool,
    Path = "path" => path,
    Host = "host" => host,
    Timeout = "timeout" => timeout,
    Send = "request-headers" => send,
    Take = "response-headers" => take,
    OnFailure = "on-failure" => on_failure,
    MaxConcurrent = "max-concurrent" => at_once,
}
