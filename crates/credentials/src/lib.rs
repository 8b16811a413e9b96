//! Password files, API keys and JSON Web Tokens: read and checked. It opens no file and reads no clock.

pub mod api_key_file;
mod apr1_hash;
pub mod basic_credentials;
pub mod jwt;
pub mod password_file;
pub mod password_hash;
