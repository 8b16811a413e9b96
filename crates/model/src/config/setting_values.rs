//! Reads the settings of a section as the types that the schema gives them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::address::ServerAddress;
use super::ip_prefix::IpPrefix;
use super::listen_range::ListenRange;
use super::section::ConfigSection;
use super::value::ConfigValue;

impl ConfigSection {
    /// Whether the key has the keyword for unset, written or by default.
    pub fn is_unset(&self, key: &str) -> bool {
        matches!(self.value(key), Some(ConfigValue::Unset(_)))
    }

    /// Several keywords of a closed list.
    pub fn keywords(&self, key: &str) -> &[&'static str] {
        match self.value(key) {
            Some(ConfigValue::Keywords(words)) => words,
            _ => &[],
        }
    }

    /// A flag; false if absent.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.value(key), Some(ConfigValue::Flag(true)))
    }

    /// A number, if it fits `N`.
    pub fn count<N: TryFrom<u64>>(&self, key: &str) -> Option<N> {
        match self.value(key) {
            Some(
                ConfigValue::Count(count)
                | ConfigValue::Size(count)
                | ConfigValue::Rate(count)
                | ConfigValue::Share(count),
            ) => N::try_from(*count).ok(),
            Some(ConfigValue::Mode(mode)) => N::try_from(u64::from(*mode)).ok(),
            _ => None,
        }
    }

    /// A number; 0 if absent.
    pub fn count_or_zero<N: TryFrom<u64> + Default>(&self, key: &str) -> N {
        self.count(key).unwrap_or_default()
    }

    pub fn time(&self, key: &str) -> Option<Duration> {
        match self.value(key) {
            Some(ConfigValue::Time(time)) => Some(*time),
            _ => None,
        }
    }

    /// A time; 0 if absent.
    pub fn time_or_zero(&self, key: &str) -> Duration {
        self.time(key).unwrap_or_default()
    }

    /// A text or a keyword.
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.value(key) {
            Some(ConfigValue::Text(text)) => Some(text),
            Some(ConfigValue::Keyword(word)) => Some(word),
            _ => None,
        }
    }

    pub fn texts(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(ConfigValue::Texts(list)) => list,
            _ => &[],
        }
    }

    /// Listening addresses; a single one counts as a list.
    pub fn sockets(&self, key: &str) -> &[SocketAddr] {
        match self.value(key) {
            Some(ConfigValue::Listen(list)) => list,
            Some(ConfigValue::Socket(address)) => std::slice::from_ref(address),
            _ => &[],
        }
    }

    /// Listening addresses with their ports, in either form.
    pub fn listen_ranges(&self, key: &str) -> Vec<ListenRange> {
        match self.value(key) {
            Some(ConfigValue::ListenRanges(list)) => list.clone(),
            _ => self
                .sockets(key)
                .iter()
                .map(|at| ListenRange::single_port(at.ip(), at.port()))
                .collect(),
        }
    }

    pub fn prefixes(&self, key: &str) -> &[IpPrefix] {
        match self.value(key) {
            Some(ConfigValue::Prefixes(list) | ConfigValue::PrefixesAndFiles(list, _)) => list,
            _ => &[],
        }
    }

    /// Files of networks.
    pub fn network_files(&self, key: &str) -> &[String] {
        match self.value(key) {
            Some(ConfigValue::PrefixesAndFiles(_, files)) => files,
            _ => &[],
        }
    }

    pub fn addresses(&self, key: &str) -> &[IpAddr] {
        match self.value(key) {
            Some(ConfigValue::Addresses(list)) => list,
            _ => &[],
        }
    }

    pub fn server_address(&self, key: &str) -> Option<&ServerAddress> {
        match self.value(key) {
            Some(ConfigValue::Server(address)) => Some(address),
            _ => None,
        }
    }
}
