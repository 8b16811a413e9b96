//! Builds the field that names clients from verified settings.

use super::types::ClientAddressField;
use crate::config::section::ConfigSection;

pub fn build_client_from(service: &ConfigSection) -> Option<ClientAddressField> {
    let name = service.text("client-from")?.to_ascii_lowercase();
    Some(match name.as_str() {
        "x-forwarded-for" => ClientAddressField::XForwardedFor,
        "forwarded" => ClientAddressField::Forwarded,
        _ => ClientAddressField::Named(name),
    })
}
