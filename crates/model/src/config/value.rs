//! One typed setting and its canonical spelling in TOML. It does not know which key it belongs to.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::address::ServerAddress;
use super::packets::{Hours, Prefix, Span};
use super::unit::{Rate, Share, Size, Time};

/// A setting after its text was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// The word for "nothing is set": `off`, `auto`, `system`.
    Unset(&'static str),
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A length of time.
    Time(Duration),
    /// Bytes.
    Size(u64),
    /// Bits per second.
    Rate(u64),
    /// Parts per million.
    Share(u64),
    /// One of a closed list.
    Word(&'static str),
    /// Free text that a form has approved.
    Text(Cow<'static, str>),
    /// File permissions.
    Mode(u32),
    /// Listening addresses.
    Listen(Vec<SocketAddr>),
    /// Listening addresses with ranges of ports, or any port.
    Spans(Vec<Span>),
    /// Several of a closed list.
    Words(Cow<'static, [&'static str]>),
    /// Several texts that a form has approved.
    Texts(Vec<String>),
    /// Networks.
    Prefixes(Vec<Prefix>),
    /// Ports from one to another.
    PortRange(u16, u16),
    /// A part of the day.
    Hours(Hours),
    /// One address and port.
    Socket(SocketAddr),
    /// Addresses without port.
    Addresses(Vec<IpAddr>),
    /// Where a server is.
    Server(ServerAddress),
    /// Inclusive ranges of HTTP statuses.
    Status(Cow<'static, [(u16, u16)]>),
    /// Paths of this machine.
    Files(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unset(word) | Value::Word(word) => write!(to, "\"{word}\""),
            Value::Flag(flag) => write!(to, "{flag}"),
            Value::Count(count) => write!(to, "{count}"),
            Value::Time(time) => write!(to, "\"{}\"", Time(*time)),
            Value::Size(size) => write!(to, "\"{}\"", Size(*size)),
            Value::Rate(rate) => write!(to, "\"{}\"", Rate(*rate)),
            Value::Share(share) => write!(to, "\"{}\"", Share(*share)),
            Value::Text(text) => write_text(text, to),
            Value::Texts(texts) => {
                to.write_str("[")?;
                for (at, text) in texts.iter().enumerate() {
                    to.write_str(if at == 0 { "" } else { ", " })?;
                    write_text(text, to)?;
                }
                to.write_str("]")
            }
            Value::Mode(mode) => write!(to, "\"{mode:04o}\""),
            Value::Listen(list) => write_list(list, to),
            Value::Spans(list) => write_list(list, to),
            Value::Words(list) => write_list(list, to),
            Value::Prefixes(list) => write_list(list, to),
            Value::PortRange(first, last) => write!(to, "\"{first}-{last}\""),
            Value::Hours(hours) => write!(to, "\"{hours}\""),
            Value::Socket(address) => write!(to, "\"{address}\""),
            Value::Addresses(list) => write_list(list, to),
            Value::Server(address) => write!(to, "\"{address}\""),
            Value::Files(files) => {
                to.write_str("[")?;
                for (at, file) in files.iter().enumerate() {
                    to.write_str(if at == 0 { "" } else { ", " })?;
                    write_text(file, to)?;
                }
                to.write_str("]")
            }
            Value::Status(ranges) => {
                let texts: Vec<String> = ranges.iter().map(status_range).collect();
                write_list(&texts, to)
            }
        }
    }
}

/// A basic TOML string: control characters, quotes and backslashes escaped.
pub fn write_text(text: &str, to: &mut dyn fmt::Write) -> fmt::Result {
    to.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(to, "\\{c}")?,
            c if c.is_control() => write!(to, "\\u{:04X}", u32::from(c))?,
            c => to.write_char(c)?,
        }
    }
    to.write_char('"')
}

fn write_list(list: &[impl fmt::Display], to: &mut fmt::Formatter<'_>) -> fmt::Result {
    to.write_str("[")?;
    for (at, item) in list.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(to, "{comma}\"{item}\"")?;
    }
    to.write_str("]")
}

fn status_range((first, last): &(u16, u16)) -> String {
    if first == last { first.to_string() } else { format!("{first}-{last}") }
}
