//! One typed value and its canonical form in TOML. It does not know its key.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::address::ServerAddress;
use super::daily_window::DailyWindow;
use super::ip_prefix::IpPrefix;
use super::listen_range::ListenRange;
use super::port_range::PortRange;
use super::status_range::StatusRange;
use super::unit::{BitsPerSecond, ByteSize, Percentage, Time};

/// What stands before the path of a file where networks are expected.
pub const FILE_PREFIX: &str = "file:";

/// A decoded value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigValue {
    /// The keyword for unset: `off`, `auto`, `system`.
    Unset(&'static str),
    Flag(bool),
    Count(u64),
    Time(Duration),
    Size(u64),
    Rate(u64),
    Share(u64),
    /// A keyword of a closed list.
    Keyword(&'static str),
    /// A validated text.
    Text(Cow<'static, str>),
    Mode(u32),
    Listen(Vec<SocketAddr>),
    /// Listening addresses with ranges of ports, or any port.
    ListenRanges(Vec<ListenRange>),
    /// Several keywords of a closed list.
    Keywords(Cow<'static, [&'static str]>),
    /// Several validated texts.
    Texts(Vec<String>),
    Prefixes(Vec<IpPrefix>),
    /// Networks, and the paths of files of networks.
    PrefixesAndFiles(Vec<IpPrefix>, Vec<String>),
    /// An inclusive range of ports.
    PortRange(PortRange),
    DailyWindow(DailyWindow),
    /// One local address and port.
    Socket(SocketAddr),
    Addresses(Vec<IpAddr>),
    /// The address of a server.
    Server(ServerAddress),
    /// Inclusive ranges of HTTP statuses.
    Status(Cow<'static, [StatusRange]>),
    /// Local paths.
    Files(Vec<String>),
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Unset(word) | ConfigValue::Keyword(word) => write!(to, "\"{word}\""),
            ConfigValue::Flag(flag) => write!(to, "{flag}"),
            ConfigValue::Count(count) => write!(to, "{count}"),
            ConfigValue::Time(time) => write!(to, "\"{}\"", Time(*time)),
            ConfigValue::Size(size) => write!(to, "\"{}\"", ByteSize(*size)),
            ConfigValue::Rate(rate) => write!(to, "\"{}\"", BitsPerSecond(*rate)),
            ConfigValue::Share(share) => write!(to, "\"{}\"", Percentage(*share)),
            ConfigValue::Text(text) => write_toml_string(text, to),
            ConfigValue::Texts(texts) => write_texts(texts.iter().cloned(), to),
            ConfigValue::Mode(mode) => write!(to, "\"{mode:04o}\""),
            ConfigValue::Listen(list) => write_list(list, to),
            ConfigValue::ListenRanges(list) => write_list(list, to),
            ConfigValue::Keywords(list) => write_list(list, to),
            ConfigValue::Prefixes(list) => write_list(list, to),
            ConfigValue::PrefixesAndFiles(networks, files) => {
                let networks = networks.iter().map(ToString::to_string);
                let files = files.iter().map(|path| format!("{FILE_PREFIX}{path}"));
                write_texts(networks.chain(files), to)
            }
            ConfigValue::PortRange(PortRange { first, last }) => write!(to, "\"{first}-{last}\""),
            ConfigValue::DailyWindow(hours) => write!(to, "\"{hours}\""),
            ConfigValue::Socket(address) => write!(to, "\"{address}\""),
            ConfigValue::Addresses(list) => write_list(list, to),
            ConfigValue::Server(address) => write!(to, "\"{address}\""),
            ConfigValue::Files(files) => write_texts(files.iter().cloned(), to),
            ConfigValue::Status(ranges) => write_list(ranges, to),
        }
    }
}

/// A basic TOML string: control characters, quotes and backslashes escaped.
pub fn write_toml_string(text: &str, to: &mut dyn fmt::Write) -> fmt::Result {
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

fn write_texts(texts: impl Iterator<Item = String>, to: &mut fmt::Formatter<'_>) -> fmt::Result {
    to.write_str("[")?;
    for (at, text) in texts.enumerate() {
        to.write_str(if at == 0 { "" } else { ", " })?;
        write_toml_string(&text, to)?;
    }
    to.write_str("]")
}

fn write_list(list: &[impl fmt::Display], to: &mut fmt::Formatter<'_>) -> fmt::Result {
    to.write_str("[")?;
    for (at, item) in list.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(to, "{comma}\"{item}\"")?;
    }
    to.write_str("]")
}
