//! Builds `forwarded` of a service from verified settings.

use super::types::{ClientField, ClientFieldMode, ForwardedHeaderAction, ForwardedHeaders};
use crate::config::network_set::NetworkSet;
use crate::config::section::ConfigSection;

pub fn build_forwarded(section: &ConfigSection) -> ForwardedHeaders {
    ForwardedHeaders {
        x_forwarded: action(section.text("x-forwarded")),
        forwarded: action(section.text("forwarded")),
        via: section.flag("via"),
        client_field: section.table("client-field").map(|field| ClientField {
            name: field.text("name").unwrap_or_default().to_owned(),
            mode: match field.text("mode") {
                Some("add") => ClientFieldMode::Add,
                Some("list") => ClientFieldMode::List,
                Some("if-absent") => ClientFieldMode::IfAbsent,
                _ => ClientFieldMode::Set,
            },
            except: NetworkSet::new(field.prefixes("except")),
        }),
    }
}

fn action(word: Option<&str>) -> ForwardedHeaderAction {
    match word {
        Some("append") => ForwardedHeaderAction::Append,
        Some("replace") => ForwardedHeaderAction::Replace,
        Some("remove") => ForwardedHeaderAction::Remove,
        Some("pass") => ForwardedHeaderAction::Pass,
        _ => ForwardedHeaderAction::Keep,
    }
}
