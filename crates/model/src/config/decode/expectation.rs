//! Describes the valid values of a key, for error messages.

use toml::de::DeValue;

use super::super::finding::FindingDetails;
use super::super::schema::ValueKind;
use super::super::unit::{BitsPerSecond, ByteSize, Percentage, Time};
use super::text_format;

const PREFIXES_OR_FILES: &str = "a network such as \"10.0.0.0/8\", a file of networks such as \
    \"file:/etc/steelyard/cdn.cidr\", or a list of them";

/// Describes the valid values of this kind; the reference prints the same text.
pub fn describe_expected(kind: &ValueKind) -> String {
    let text = match kind {
        ValueKind::Flag => "true or false".to_owned(),
        ValueKind::Count { min, max, .. } => format!("a whole number, {min} to {max}"),
        ValueKind::Time { min, max, whole_seconds, .. } => {
            let whole = if *whole_seconds { " in whole seconds" } else { "" };
            format!("a time with its unit{whole}, \"{}\" to \"{}\"", Time(*min), Time(*max))
        }
        ValueKind::Size { min, max, .. } => {
            format!(
                "a number of bytes with its unit, \"{}\" to \"{}\"",
                ByteSize(*min),
                ByteSize(*max)
            )
        }
        ValueKind::Rate { min, max, .. } => {
            format!(
                "a rate with its unit, \"{}\" to \"{}\"",
                BitsPerSecond(*min),
                BitsPerSecond(*max)
            )
        }
        ValueKind::Share(min, max, _) => {
            format!("a share in percent, \"{}\" to \"{}\"", Percentage(*min), Percentage(*max))
        }
        ValueKind::Keyword(words) => {
            let available =
                words.iter().filter(|word| word.available).map(|word| format!("\"{}\"", word.name));
            available.collect::<Vec<_>>().join(", ")
        }
        ValueKind::KeywordList(words) => {
            let words: Vec<String> = words.iter().map(|w| format!("\"{}\"", w.name)).collect();
            format!("{}, or a list of them", words.join(", "))
        }
        ValueKind::Texts { form, .. } => {
            format!("{}, or a list of them", text_format::describe_format(*form))
        }
        ValueKind::Prefixes => {
            "a network such as \"10.0.0.0/8\" or \"2001:db8::/32\", or a list of them".to_owned()
        }
        ValueKind::PrefixesOrFiles => PREFIXES_OR_FILES.to_owned(),
        ValueKind::PortRange => "a port or a range: 1024, \"1024-65535\"".to_owned(),
        ValueKind::DailyWindow => "a part of the day: \"22:00-06:00\" or \"22-5\"".to_owned(),
        ValueKind::Lines { form, most } => {
            format!("{}, or a list of at most {most} of them", text_format::describe_format(*form))
        }
        ValueKind::Text { form, .. } => text_format::describe_format(*form).to_owned(),
        ValueKind::Mode => "permissions in octal, such as \"0660\"".to_owned(),
        ValueKind::Listen => {
            "an address and port such as \"203.0.113.10:80\" or \":80\", or a list of them"
                .to_owned()
        }
        ValueKind::Socket => "an address and port, such as \"127.0.0.1:9100\"".to_owned(),
        ValueKind::Addresses | ValueKind::AddressesOr(_) => {
            "an address without port, or a list of them".to_owned()
        }
        ValueKind::Server => {
            "an address or a name, and a port, such as \"10.0.0.11:8080\", or \"unix:/PATH\""
                .to_owned()
        }
        ValueKind::Files => "a path, or a list of them".to_owned(),
        ValueKind::Status => "statuses: 200, \"200-299\", or a list of them".to_owned(),
        ValueKind::Table { .. } => "a table".to_owned(),
        ValueKind::List { .. } => "a list".to_owned(),
        ValueKind::Named { .. } => "tables by name".to_owned(),
        ValueKind::Refused(reason) => (*reason).to_owned(),
    };
    unset_keyword(kind).map(|word| format!("{text}, or \"{word}\"")).unwrap_or(text)
}

/// The keyword for an unset value, if the kind has one.
pub fn unset_keyword(kind: &ValueKind) -> Option<&'static str> {
    match kind {
        ValueKind::Count { unset, .. }
        | ValueKind::Time { unset, .. }
        | ValueKind::Size { unset, .. } => *unset,
        ValueKind::AddressesOr(unset) => Some(unset),
        ValueKind::Rate { unset, .. } | ValueKind::Share(_, _, unset) => *unset,
        ValueKind::Texts { unset, .. } => *unset,
        ValueKind::Text { unset, .. } | ValueKind::Table { unset, .. } => *unset,
        _ => None,
    }
}

/// The name of a value's type in messages.
pub fn toml_type_name(node: &DeValue<'_>) -> &'static str {
    match node {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "a flag",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

pub(super) fn type_mismatch(kind: &ValueKind, node: &DeValue<'_>) -> FindingDetails {
    FindingDetails::new(format!("{} does not fit here", toml_type_name(node)))
        .with_expected(describe_expected(kind))
}
