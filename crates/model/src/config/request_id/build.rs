//! Builds request ids of a service from verified settings.

use super::types::RequestIdConfig;
use crate::config::section::ConfigSection;

pub fn build_request_id(service: &ConfigSection) -> Option<RequestIdConfig> {
    let section = service.table("request-id")?;
    let header = section.text("header")?.to_owned();
    Some(RequestIdConfig { header, answer: section.flag("response") })
}
