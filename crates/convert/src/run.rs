//! One conversion: the input is a text, the output a configuration that passes `check`, and notes.

use serde::Serialize;

use crate::dialect::Dialect;
use crate::document::Document;
use crate::notes::{ConversionNote, ConversionNotes};
use crate::shorten::shorten;
use crate::source::SourcePlace;
use crate::template::{find_placeholder, find_zero_byte, without_byte_order_mark};
use crate::validation::validate;
use crate::{apache, caddy, dispatcher, envoy, haproxy, keepalived, nginx, traefik};

/// The largest file to convert, in bytes.
pub const FILE_MAX: usize = 4 * 1_024 * 1_024;

/// The result of a conversion.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ConversionResult {
    /// The dialect of the source.
    pub from: Dialect,
    /// The configuration, which `steelyard check` accepts. `None` if nothing could be converted.
    pub text: Option<String>,
    /// Notes about left-out, changed and unneeded settings, by line.
    pub notes: Vec<ConversionNote>,
    /// The number of directives left out, listed or not.
    pub left_out: u64,
    /// The number of notes that are not listed.
    pub unlisted: u64,
    /// Words that the converter neither wrote nor reported: mistakes of the converter. They count as left out.
    pub unsettled: u64,
}

/// Converts the configuration of another balancer. `file` is for comments and notes only.
pub fn convert(text: &str, file: &str, from: Dialect) -> ConversionResult {
    let mut notes = ConversionNotes::new(file);
    let mut document = Document::default();
    let text = without_byte_order_mark(text);
    if text.len() > FILE_MAX {
        let reason = format!("it has {} bytes, more than {FILE_MAX}", text.len());
        notes.left_out(SourcePlace::NONE, "the whole file", &reason, "split the file");
    } else if let Some(found) = find_zero_byte(text) {
        let reason = "the file has a zero byte: it is no text, or one in UTF-16";
        let place = SourcePlace::at_line(found.line);
        notes.unreadable(place, &found.text, reason, "the file as UTF-8, as iconv writes it");
    } else if let Some(found) = find_placeholder(text) {
        let reason = "the file is a template: a tool has still to fill in what stands here";
        notes.unreadable(
            SourcePlace::at_line(found.line),
            &found.text,
            reason,
            "convert what the tool makes of it",
        );
    } else {
        match from {
            Dialect::Haproxy => haproxy::convert(text, &mut document, &mut notes),
            Dialect::Nginx => nginx::convert(text, &mut document, &mut notes),
            Dialect::Keepalived => keepalived::convert(text, &mut document, &mut notes),
            Dialect::Dispatcher => dispatcher::convert(text, &mut document, &mut notes),
            Dialect::Envoy => envoy::convert(text, &mut document, &mut notes),
            Dialect::Traefik => traefik::convert(text, &mut document, &mut notes),
            Dialect::Caddy => caddy::convert(text, &mut document, &mut notes),
            Dialect::Apache => apache::convert(text, &mut document, &mut notes),
        }
    }
    let is_empty = document.tables.is_empty() && document.dropped == 0;
    let nothing = is_empty || notes.is_unreadable();
    let fitted = if nothing { None } else { validate(&mut document, &mut notes) };
    let unsettled = if fitted.is_some() { notes.close_account(&document) } else { 0 };
    let notes = notes.finish();
    let text = fitted.map(|body| {
        let head = format!(
            "# Converted from {} ({}); \"line N\" is a line there. Look at it before it is used.\n\n",
            shorten(file),
            from.name()
        );
        head + &body
    });
    ConversionResult {
        from,
        text,
        notes: notes.list,
        left_out: notes.left_out,
        unlisted: notes.unlisted,
        unsettled,
    }
}
