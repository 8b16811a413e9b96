//! Builds the API settings of the checked configuration.

use std::path::PathBuf;

use super::types::{RemoteApiConfig, WriteBack};
use crate::config::section::ConfigSection;

pub fn build_write_back(control: &ConfigSection) -> WriteBack {
    match control.text("write-back") {
        Some("file") => WriteBack::File,
        Some("overlay") => WriteBack::Overlay,
        _ => WriteBack::Off,
    }
}

/// `None`: the API is not served over TCP.
pub fn build_remote_api(control: &ConfigSection) -> Option<RemoteApiConfig> {
    let path = |key| control.text(key).map(PathBuf::from);
    Some(RemoteApiConfig {
        listen: *control.sockets("listen").first()?,
        tokens: path("tokens"),
        certificate: path("certificate"),
        client_authorities: path("client-authorities"),
        hosts: control.texts("hosts").to_vec(),
    })
}
