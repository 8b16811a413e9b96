//! Decodes one value by its kind in the schema. It knows neither key nor place.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::finding::FindingDetails;
use super::super::key_lookup::nearest_word;
use super::super::schema::{Keyword, TextFormat, ValueKind};
use super::super::status_range::StatusRange;
use super::super::suggestion::nearest_match;
use super::super::unit::{BitsPerSecond, ByteSize, Percentage, Time, UnitError};
use super::super::value::ConfigValue;
use super::address;
use super::expectation::{describe_expected, type_mismatch, unset_keyword};
use super::packets;
use super::text_format;

/// Decodes a value, or describes what is wrong with it.
pub fn decode_value(kind: &ValueKind, node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let text = node.as_str();
    if let (Some(word), Some(text)) = (unset_keyword(kind), text)
        && text == word
    {
        return Ok(ConfigValue::Unset(word));
    }
    match kind {
        ValueKind::Flag => match (node.as_bool(), text) {
            (Some(flag), _) => Ok(ConfigValue::Flag(flag)),
            (None, Some(flag @ ("true" | "false"))) => {
                Err(type_mismatch(kind, node).with_suggestion(Some(flag.to_owned())))
            }
            _ => Err(type_mismatch(kind, node)),
        },
        ValueKind::Count { min, max, .. } => decode_count(kind, node, *min, *max),
        ValueKind::Time { min, max, whole_seconds, .. } => {
            let Time(time) = decode_quantity(kind, node, |seconds| {
                Time(std::time::Duration::from_secs(seconds))
            })?;
            check_bounds(kind, time, *min, *max)?;
            if *whole_seconds && time.subsec_nanos() != 0 {
                return Err(FindingDetails::new("the kernel takes whole seconds here")
                    .with_expected(describe_expected(kind)));
            }
            Ok(ConfigValue::Time(time))
        }
        ValueKind::Size { min, max, .. } => {
            let ByteSize(size) = decode_quantity(kind, node, ByteSize)?;
            check_bounds(kind, size, *min, *max)?;
            Ok(ConfigValue::Size(size))
        }
        ValueKind::Rate { min, max, .. } => {
            let BitsPerSecond(rate) = decode_quantity(kind, node, BitsPerSecond)?;
            check_bounds(kind, rate, *min, *max)?;
            Ok(ConfigValue::Rate(rate))
        }
        ValueKind::Share(min, max, _) => {
            let Percentage(share) = decode_quantity(kind, node, |percent| {
                Percentage(percent.saturating_mul(Percentage::WHOLE / 100))
            })?;
            check_bounds(kind, share, *min, *max)?;
            Ok(ConfigValue::Share(share))
        }
        ValueKind::Keyword(words) => decode_keyword(kind, node, words),
        ValueKind::KeywordList(words) => decode_keyword_list(kind, node, words),
        ValueKind::Texts { form, .. } => decode_text_list(kind, node, *form),
        ValueKind::Lines { form, most } => decode_lines(kind, node, *form, *most),
        ValueKind::Text { form, .. } => {
            text_format::parse_text(*form, text.ok_or_else(|| type_mismatch(kind, node))?)
        }
        ValueKind::Mode => decode_mode(kind, node),
        ValueKind::Listen => address::decode_listen(node),
        ValueKind::Socket => address::decode_socket(node),
        ValueKind::Addresses | ValueKind::AddressesOr(_) => address::decode_addresses(node),
        ValueKind::Prefixes => packets::decode_prefixes(node),
        ValueKind::PrefixesOrFiles => packets::decode_prefixes_or_files(node),
        ValueKind::PortRange => packets::decode_port_range(node),
        ValueKind::DailyWindow => packets::decode_daily_window(node),
        ValueKind::Server => address::decode_server_address(node),
        ValueKind::Status => decode_status(kind, node),
        ValueKind::Files => decode_files(kind, node),
        ValueKind::Table { .. }
        | ValueKind::List { .. }
        | ValueKind::Named { .. }
        | ValueKind::Refused(_) => Err(type_mismatch(kind, node)),
    }
}

fn parse_integer(node: &DeValue<'_>) -> Option<i128> {
    let integer = node.as_integer()?;
    // Too many digits for any bound: clipped, so that the message is about the bounds.
    Some(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
}

fn decode_count(
    kind: &ValueKind,
    node: &DeValue<'_>,
    min: u64,
    max: u64,
) -> Result<ConfigValue, FindingDetails> {
    let Some(number) = parse_integer(node) else {
        let meant = node.as_str().and_then(|text| text.trim().parse::<u64>().ok());
        let meant =
            meant.filter(|number| (min..=max).contains(number)).map(|number| number.to_string());
        let near = unset_keyword(kind).filter(|word| {
            node.as_str().is_some_and(|text| nearest_match(text, [*word]).is_some())
        });
        return Err(type_mismatch(kind, node)
            .with_suggestion(meant.or(near.map(|word| format!("\"{word}\"")))));
    };
    let count = u64::try_from(number.max(0)).unwrap_or(u64::MAX);
    if number < 0 {
        return Err(FindingDetails::new("a negative number does not fit here")
            .with_expected(describe_expected(kind)));
    }
    check_bounds(kind, count, min, max)?;
    Ok(ConfigValue::Count(count))
}

fn check_bounds<T: PartialOrd>(
    kind: &ValueKind,
    value: T,
    min: T,
    max: T,
) -> Result<(), FindingDetails> {
    if value < min {
        return Err(FindingDetails::new("too small").with_expected(describe_expected(kind)));
    }
    if value > max {
        return Err(FindingDetails::new("too large").with_expected(describe_expected(kind)));
    }
    Ok(())
}

fn decode_quantity<Q>(
    kind: &ValueKind,
    node: &DeValue<'_>,
    bare: impl Fn(u64) -> Q,
) -> Result<Q, FindingDetails>
where
    Q: FromStr<Err = UnitError> + Display,
{
    let spelled = |number: u64| format!("\"{}\"", bare(number));
    if let Some(number) = parse_integer(node) {
        let meant = u64::try_from(number).ok().map(spelled);
        return Err(FindingDetails::new("the unit is missing")
            .with_expected(describe_expected(kind))
            .with_suggestion(meant));
    }
    let text = node.as_str().ok_or_else(|| type_mismatch(kind, node))?;
    text.trim().parse::<Q>().map_err(|error| {
        let near = unset_keyword(kind)
            .filter(|word| nearest_match(text, [*word]).is_some())
            .map(|word| format!("\"{word}\""));
        let meant = match error {
            UnitError::NoUnit => text.trim().parse::<u64>().ok().map(spelled),
            _ => near,
        };
        FindingDetails::new(error.to_string())
            .with_expected(describe_expected(kind))
            .with_suggestion(meant)
    })
}

fn decode_keyword(
    kind: &ValueKind,
    node: &DeValue<'_>,
    words: &'static [Keyword],
) -> Result<ConfigValue, FindingDetails> {
    let text = node.as_str().ok_or_else(|| type_mismatch(kind, node))?;
    match words.iter().find(|word| word.is_named(text)) {
        Some(word) if word.available => Ok(ConfigValue::Keyword(word.name)),
        Some(word) => {
            let message = format!("`{}` is known, but not available in this build", word.name);
            Err(FindingDetails::new(message)
                .with_expected(format!("one of the available: {}", describe_expected(kind))))
        }
        None => {
            let near = nearest_word(words, text);
            Err(FindingDetails::new("not a word that fits here")
                .with_expected(format!("one of {}", describe_expected(kind)))
                .with_suggestion(near.map(|word| format!("\"{word}\""))))
        }
    }
}

fn decode_lines(
    kind: &ValueKind,
    node: &DeValue<'_>,
    form: TextFormat,
    most: usize,
) -> Result<ConfigValue, FindingDetails> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) if array.len() <= most => {
            array.iter().map(|item| item.get_ref()).collect()
        }
        DeValue::Array(_) => {
            return Err(
                FindingDetails::new("too many of them").with_expected(describe_expected(kind))
            );
        }
        DeValue::Table(table) if matches!(form, TextFormat::Field | TextFormat::FieldTemplate) => {
            return Err(type_mismatch(kind, node).with_suggestion(table_as_fields(table)));
        }
        single => vec![single],
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let text = item.as_str().ok_or_else(|| type_mismatch(kind, item))?;
        text_format::parse_text(form, text)?;
        texts.push(text.to_owned());
    }
    Ok(ConfigValue::Texts(texts))
}

/// Suggests the list form of header fields that were written as a table.
fn table_as_fields(table: &DeTable<'_>) -> Option<String> {
    let field = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let value = value.get_ref().as_str()?;
        Some(format!("\"{}: {value}\"", name.get_ref()))
    };
    let fields: Vec<String> = table.iter().map(field).collect::<Option<_>>()?;
    match fields.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

/// The elements of a list, or the single value as a list; each must occur only once.
fn list_elements<'n, 't>(
    kind: &ValueKind,
    node: &'n DeValue<'t>,
) -> Result<Vec<&'n DeValue<'t>>, FindingDetails> {
    let nodes: Vec<&DeValue<'_>> = match node {
        DeValue::Array(list) => list.iter().map(|item| item.get_ref()).collect(),
        single => vec![single],
    };
    if !(1..=64).contains(&nodes.len()) {
        return Err(
            FindingDetails::new("1 to 64 of these fit here").with_expected(describe_expected(kind))
        );
    }
    Ok(nodes)
}

fn decode_keyword_list(
    kind: &ValueKind,
    node: &DeValue<'_>,
    words: &'static [Keyword],
) -> Result<ConfigValue, FindingDetails> {
    let mut list = Vec::new();
    for node in list_elements(kind, node)? {
        let ConfigValue::Keyword(word) = decode_keyword(kind, node, words)? else { continue };
        if list.contains(&word) {
            return Err(FindingDetails::new(format!("`{word}` stands here twice"))
                .with_expected(describe_expected(kind)));
        }
        list.push(word);
    }
    Ok(ConfigValue::Keywords(Cow::Owned(list)))
}

fn decode_text_list(
    kind: &ValueKind,
    node: &DeValue<'_>,
    form: TextFormat,
) -> Result<ConfigValue, FindingDetails> {
    let mut list = Vec::new();
    for node in list_elements(kind, node)? {
        let text = node.as_str().ok_or_else(|| type_mismatch(kind, node))?;
        text_format::parse_text(form, text)?;
        if list.iter().any(|known| known == text) {
            return Err(FindingDetails::new(format!("`{text}` stands here twice"))
                .with_expected(describe_expected(kind)));
        }
        list.push(text.to_owned());
    }
    Ok(ConfigValue::Texts(list))
}

fn decode_mode(kind: &ValueKind, node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let octal = match (node.as_str(), node.as_integer()) {
        (Some(text), _) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        (None, Some(number)) if number.radix() == 8 => u32::from_str_radix(number.as_str(), 8).ok(),
        (None, Some(number)) => {
            return Err(FindingDetails::new("permissions are written in octal")
                .with_expected(describe_expected(kind))
                .with_suggestion(Some(format!("\"0{}\"", number.as_str()))));
        }
        _ => None,
    };
    octal
        .filter(|mode| *mode <= 0o777)
        .map(ConfigValue::Mode)
        .ok_or_else(|| type_mismatch(kind, node))
}

fn decode_status(kind: &ValueKind, node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) if (1..=64).contains(&array.len()) => {
            array.iter().map(|item| item.get_ref()).collect()
        }
        DeValue::Array(_) => {
            return Err(FindingDetails::new("1 to 64 statuses fit here")
                .with_expected(describe_expected(kind)));
        }
        single => vec![single],
    };
    let mut ranges = Vec::with_capacity(items.len());
    for item in items {
        let range = match (parse_integer(item), item.as_str()) {
            (Some(number), _) => {
                u16::try_from(number).ok().map(|status| StatusRange { first: status, last: status })
            }
            (None, Some(text)) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                let bounds = first.trim().parse().ok().zip(last.trim().parse().ok());
                bounds.map(|(first, last)| StatusRange { first, last })
            }
            _ => None,
        };
        let known = |range: &StatusRange| {
            range.first >= 100 && range.first <= range.last && range.last <= 599
        };
        let range = range.filter(known).ok_or_else(|| {
            FindingDetails::new("not a status from 100 to 599, nor a range of them")
                .with_expected(describe_expected(kind))
        })?;
        ranges.push(range);
    }
    Ok(ConfigValue::Status(Cow::Owned(ranges)))
}

fn decode_files(kind: &ValueKind, node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) => array.iter().map(|item| item.get_ref()).collect(),
        single => vec![single],
    };
    if !(1..=1_024).contains(&items.len()) {
        return Err(
            FindingDetails::new("1 to 1024 paths fit here").with_expected(describe_expected(kind))
        );
    }
    let path = |item: &DeValue<'_>| {
        let text = item.as_str().ok_or_else(|| type_mismatch(kind, item))?;
        text_format::parse_text(TextFormat::File, text).map(|_| text.to_owned())
    };
    Ok(ConfigValue::Files(items.into_iter().map(path).collect::<Result<_, _>>()?))
}
