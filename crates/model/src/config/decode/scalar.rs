//! One written value against one kind of the schema. It knows neither key nor place.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::finding::Trouble;
use super::super::schema::{Form, Kind, Word};
use super::super::suggest::nearest;
use super::super::unit::{Rate, Share, Size, Time, UnitError};
use super::super::value::Value;
use super::address;
use super::form;
use super::packets;

/// Read a value, or say what is wrong with it.
pub fn read(kind: &Kind, node: &DeValue<'_>) -> Result<Value, Trouble> {
    let text = node.as_str();
    if let (Some(word), Some(text)) = (unset(kind), text)
        && text == word
    {
        return Ok(Value::Unset(word));
    }
    match kind {
        Kind::Flag => match (node.as_bool(), text) {
            (Some(flag), _) => Ok(Value::Flag(flag)),
            (None, Some(flag @ ("true" | "false"))) => {
                Err(wrong(kind, node).suggest(Some(flag.to_owned())))
            }
            _ => Err(wrong(kind, node)),
        },
        Kind::Count { min, max, .. } => count(kind, node, *min, *max),
        Kind::Time { min, max, whole_seconds, .. } => {
            let Time(time) =
                quantity(kind, node, |seconds| Time(std::time::Duration::from_secs(seconds)))?;
            bounded(kind, time, *min, *max)?;
            if *whole_seconds && time.subsec_nanos() != 0 {
                return Err(
                    Trouble::new("the kernel takes whole seconds here").expected(expected(kind))
                );
            }
            Ok(Value::Time(time))
        }
        Kind::Size { min, max, .. } => {
            let Size(size) = quantity(kind, node, Size)?;
            bounded(kind, size, *min, *max)?;
            Ok(Value::Size(size))
        }
        Kind::Rate { min, max, .. } => {
            let Rate(rate) = quantity(kind, node, Rate)?;
            bounded(kind, rate, *min, *max)?;
            Ok(Value::Rate(rate))
        }
        Kind::Share(min, max, _) => {
            let Share(share) =
                quantity(kind, node, |percent| Share(percent.saturating_mul(Share::WHOLE / 100)))?;
            bounded(kind, share, *min, *max)?;
            Ok(Value::Share(share))
        }
        Kind::Words(words) => word(kind, node, words),
        Kind::WordList(words) => word_list(kind, node, words),
        Kind::Texts { form, .. } => text_list(kind, node, *form),
        Kind::Lines { form, most } => lines(kind, node, *form, *most),
        Kind::Text { form, .. } => form::read(*form, text.ok_or_else(|| wrong(kind, node))?),
        Kind::Mode => mode(kind, node),
        Kind::Listen => address::listen(node),
        Kind::Socket => address::socket(node),
        Kind::Addresses | Kind::AddressesOr(_) => address::addresses(node),
        Kind::Prefixes => packets::prefixes(node),
        Kind::PortRange => packets::port_range(node),
        Kind::Hours => packets::hours(node),
        Kind::Server => address::server(node),
        Kind::Status => status(kind, node),
        Kind::Files => files(kind, node),
        Kind::Table { .. } | Kind::List { .. } | Kind::Named { .. } | Kind::Refused(_) => {
            Err(wrong(kind, node))
        }
    }
}

/// What may be written for this kind, in words; the reference prints the same.
pub fn expected(kind: &Kind) -> String {
    let text = match kind {
        Kind::Flag => "true or false".to_owned(),
        Kind::Count { min, max, .. } => format!("a whole number, {min} to {max}"),
        Kind::Time { min, max, whole_seconds, .. } => {
            let whole = if *whole_seconds { " in whole seconds" } else { "" };
            format!("a time with its unit{whole}, \"{}\" to \"{}\"", Time(*min), Time(*max))
        }
        Kind::Size { min, max, .. } => {
            format!("a number of bytes with its unit, \"{}\" to \"{}\"", Size(*min), Size(*max))
        }
        Kind::Rate { min, max, .. } => {
            format!("a rate with its unit, \"{}\" to \"{}\"", Rate(*min), Rate(*max))
        }
        Kind::Share(min, max, _) => {
            format!("a share in percent, \"{}\" to \"{}\"", Share(*min), Share(*max))
        }
        Kind::Words(words) => {
            let available =
                words.iter().filter(|word| word.available).map(|word| format!("\"{}\"", word.name));
            available.collect::<Vec<_>>().join(", ")
        }
        Kind::WordList(words) => {
            let words: Vec<String> = words.iter().map(|w| format!("\"{}\"", w.name)).collect();
            format!("{}, or a list of them", words.join(", "))
        }
        Kind::Texts { form, .. } => format!("{}, or a list of them", form::expected(*form)),
        Kind::Prefixes => {
            "a network such as \"10.0.0.0/8\" or \"2001:db8::/32\", or a list of them".to_owned()
        }
        Kind::PortRange => "a port or a range: 1024, \"1024-65535\"".to_owned(),
        Kind::Hours => "a part of the day: \"22:00-06:00\" or \"22-5\"".to_owned(),
        Kind::Lines { form, most } => {
            format!("{}, or a list of at most {most} of them", form::expected(*form))
        }
        Kind::Text { form, .. } => form::expected(*form).to_owned(),
        Kind::Mode => "permissions in octal, such as \"0660\"".to_owned(),
        Kind::Listen => {
            "an address and port such as \"203.0.113.10:80\" or \":80\", or a list of them"
                .to_owned()
        }
        Kind::Socket => "an address and port, such as \"127.0.0.1:9100\"".to_owned(),
        Kind::Addresses | Kind::AddressesOr(_) => {
            "an address without port, or a list of them".to_owned()
        }
        Kind::Server => "an address or a name, and a port, such as \"10.0.0.11:8080\"".to_owned(),
        Kind::Files => "a path, or a list of them".to_owned(),
        Kind::Status => "statuses: 200, \"200-299\", or a list of them".to_owned(),
        Kind::Table { .. } => "a table".to_owned(),
        Kind::List { .. } => "a list".to_owned(),
        Kind::Named { .. } => "tables by name".to_owned(),
        Kind::Refused(reason) => (*reason).to_owned(),
    };
    unset(kind).map(|word| format!("{text}, or \"{word}\"")).unwrap_or(text)
}

/// The word for nothing set, if the kind has one.
pub fn unset(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Count { unset, .. } | Kind::Time { unset, .. } | Kind::Size { unset, .. } => *unset,
        Kind::AddressesOr(unset) => Some(unset),
        Kind::Rate { unset, .. } | Kind::Share(_, _, unset) => *unset,
        Kind::Texts { unset, .. } => *unset,
        Kind::Text { unset, .. } | Kind::Table { unset, .. } => *unset,
        _ => None,
    }
}

/// A value's type, for sentences.
pub fn kind_of(node: &DeValue<'_>) -> &'static str {
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

fn wrong(kind: &Kind, node: &DeValue<'_>) -> Trouble {
    Trouble::new(format!("{} does not fit here", kind_of(node))).expected(expected(kind))
}

fn integer(node: &DeValue<'_>) -> Option<i128> {
    let integer = node.as_integer()?;
    // Too many digits for any bound: clipped, so that the bounds are what is complained about.
    Some(i128::from_str_radix(integer.as_str(), integer.radix()).unwrap_or(i128::MAX))
}

fn count(kind: &Kind, node: &DeValue<'_>, min: u64, max: u64) -> Result<Value, Trouble> {
    let Some(number) = integer(node) else {
        let meant = node.as_str().and_then(|text| text.trim().parse::<u64>().ok());
        let meant =
            meant.filter(|number| (min..=max).contains(number)).map(|number| number.to_string());
        let near = unset(kind)
            .filter(|word| node.as_str().is_some_and(|text| nearest(text, [*word]).is_some()));
        return Err(wrong(kind, node).suggest(meant.or(near.map(|word| format!("\"{word}\"")))));
    };
    let count = u64::try_from(number.max(0)).unwrap_or(u64::MAX);
    if number < 0 {
        return Err(Trouble::new("a negative number does not fit here").expected(expected(kind)));
    }
    bounded(kind, count, min, max)?;
    Ok(Value::Count(count))
}

fn bounded<T: PartialOrd>(kind: &Kind, value: T, min: T, max: T) -> Result<(), Trouble> {
    if value < min {
        return Err(Trouble::new("too small").expected(expected(kind)));
    }
    if value > max {
        return Err(Trouble::new("too large").expected(expected(kind)));
    }
    Ok(())
}

fn quantity<Q>(kind: &Kind, node: &DeValue<'_>, bare: impl Fn(u64) -> Q) -> Result<Q, Trouble>
where
    Q: FromStr<Err = UnitError> + Display,
{
    let spelled = |number: u64| format!("\"{}\"", bare(number));
    if let Some(number) = integer(node) {
        let meant = u64::try_from(number).ok().map(spelled);
        return Err(Trouble::new("the unit is missing").expected(expected(kind)).suggest(meant));
    }
    let text = node.as_str().ok_or_else(|| wrong(kind, node))?;
    text.trim().parse::<Q>().map_err(|error| {
        let near = unset(kind)
            .filter(|word| nearest(text, [*word]).is_some())
            .map(|word| format!("\"{word}\""));
        let meant = match error {
            UnitError::NoUnit => text.trim().parse::<u64>().ok().map(spelled),
            _ => near,
        };
        Trouble::new(error.to_string()).expected(expected(kind)).suggest(meant)
    })
}

fn word(kind: &Kind, node: &DeValue<'_>, words: &'static [Word]) -> Result<Value, Trouble> {
    let text = node.as_str().ok_or_else(|| wrong(kind, node))?;
    match words.iter().find(|word| word.name == text) {
        Some(word) if word.available => Ok(Value::Word(word.name)),
        Some(word) => {
            let message = format!("`{}` is known, but not available in this build", word.name);
            Err(Trouble::new(message).expected(format!("one of the available: {}", expected(kind))))
        }
        None => {
            let near =
                nearest(text, words.iter().filter(|word| word.available).map(|word| word.name));
            Err(Trouble::new("not a word that fits here")
                .expected(format!("one of {}", expected(kind)))
                .suggest(near.map(|word| format!("\"{word}\""))))
        }
    }
}

fn lines(kind: &Kind, node: &DeValue<'_>, form: Form, most: usize) -> Result<Value, Trouble> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) if array.len() <= most => {
            array.iter().map(|item| item.get_ref()).collect()
        }
        DeValue::Array(_) => {
            return Err(Trouble::new("too many of them").expected(expected(kind)));
        }
        DeValue::Table(table) if matches!(form, Form::Field) => {
            return Err(wrong(kind, node).suggest(fields_of(table)));
        }
        single => vec![single],
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        let text = item.as_str().ok_or_else(|| wrong(kind, item))?;
        form::read(form, text)?;
        texts.push(text.to_owned());
    }
    Ok(Value::Texts(texts))
}

/// Fields that were written as a table, in the form that fits.
fn fields_of(table: &DeTable<'_>) -> Option<String> {
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

/// The elements of a list, or the single value as a list of one; each only once.
fn listed<'n, 't>(kind: &Kind, node: &'n DeValue<'t>) -> Result<Vec<&'n DeValue<'t>>, Trouble> {
    let nodes: Vec<&DeValue<'_>> = match node {
        DeValue::Array(list) => list.iter().map(|item| item.get_ref()).collect(),
        single => vec![single],
    };
    if !(1..=64).contains(&nodes.len()) {
        return Err(Trouble::new("1 to 64 of these fit here").expected(expected(kind)));
    }
    Ok(nodes)
}

fn word_list(kind: &Kind, node: &DeValue<'_>, words: &'static [Word]) -> Result<Value, Trouble> {
    let mut list = Vec::new();
    for node in listed(kind, node)? {
        let Value::Word(word) = word(kind, node, words)? else { continue };
        if list.contains(&word) {
            return Err(
                Trouble::new(format!("`{word}` stands here twice")).expected(expected(kind))
            );
        }
        list.push(word);
    }
    Ok(Value::Words(Cow::Owned(list)))
}

fn text_list(kind: &Kind, node: &DeValue<'_>, form: Form) -> Result<Value, Trouble> {
    let mut list = Vec::new();
    for node in listed(kind, node)? {
        let text = node.as_str().ok_or_else(|| wrong(kind, node))?;
        form::read(form, text)?;
        if list.iter().any(|known| known == text) {
            return Err(
                Trouble::new(format!("`{text}` stands here twice")).expected(expected(kind))
            );
        }
        list.push(text.to_owned());
    }
    Ok(Value::Texts(list))
}

fn mode(kind: &Kind, node: &DeValue<'_>) -> Result<Value, Trouble> {
    let octal = match (node.as_str(), node.as_integer()) {
        (Some(text), _) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        (None, Some(number)) if number.radix() == 8 => u32::from_str_radix(number.as_str(), 8).ok(),
        (None, Some(number)) => {
            return Err(Trouble::new("permissions are written in octal")
                .expected(expected(kind))
                .suggest(Some(format!("\"0{}\"", number.as_str()))));
        }
        _ => None,
    };
    octal.filter(|mode| *mode <= 0o777).map(Value::Mode).ok_or_else(|| wrong(kind, node))
}

fn status(kind: &Kind, node: &DeValue<'_>) -> Result<Value, Trouble> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) if (1..=64).contains(&array.len()) => {
            array.iter().map(|item| item.get_ref()).collect()
        }
        DeValue::Array(_) => {
            return Err(Trouble::new("1 to 64 statuses fit here").expected(expected(kind)));
        }
        single => vec![single],
    };
    let mut ranges = Vec::with_capacity(items.len());
    for item in items {
        let pair = match (integer(item), item.as_str()) {
            (Some(number), _) => u16::try_from(number).ok().map(|status| (status, status)),
            (None, Some(text)) => {
                let (first, last) = text.split_once('-').unwrap_or((text, text));
                first.trim().parse().ok().zip(last.trim().parse().ok())
            }
            _ => None,
        };
        let known = |(first, last): &(u16, u16)| *first >= 100 && first <= last && *last <= 599;
        let range = pair.filter(known).ok_or_else(|| {
            Trouble::new("not a status from 100 to 599, nor a range of them")
                .expected(expected(kind))
        })?;
        ranges.push(range);
    }
    Ok(Value::Status(Cow::Owned(ranges)))
}

fn files(kind: &Kind, node: &DeValue<'_>) -> Result<Value, Trouble> {
    let items: Vec<&DeValue<'_>> = match node {
        DeValue::Array(array) => array.iter().map(|item| item.get_ref()).collect(),
        single => vec![single],
    };
    if !(1..=1_024).contains(&items.len()) {
        return Err(Trouble::new("1 to 1024 paths fit here").expected(expected(kind)));
    }
    let path = |item: &DeValue<'_>| {
        let text = item.as_str().ok_or_else(|| wrong(kind, item))?;
        form::read(Form::File, text).map(|_| text.to_owned())
    };
    Ok(Value::Files(items.into_iter().map(path).collect::<Result<_, _>>()?))
}
