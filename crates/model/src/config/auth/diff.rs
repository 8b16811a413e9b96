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
}
