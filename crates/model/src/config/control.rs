//! `control` of `[global]`: the API, its socket and its state directory.

mod build;
mod keys;
mod resolve;
mod standard_paths;
mod types;
mod verify;

pub(super) use build::{build_remote_api, build_write_back};
pub(super) use keys::{
    ALLOW_PROGRAMS, AUDIT, CERTIFICATE, CLIENT_AUTHORITIES, HOSTS, LISTEN, TOKENS, WRITE_BACK,
};
pub(super) use resolve::{NO_SOCKET, resolve_control};
pub use standard_paths::{StandardPaths, UserEnvironment, standard_paths};
pub use types::{ControlConfig, DEFAULT_SOCKET, DEFAULT_STATE_DIR, RemoteApiConfig, WriteBack};
pub(super) use verify::{verify_own_socket, verify_remote_api};
