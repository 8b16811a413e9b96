//! The filter of a query: read once, with an error for what can fit no line.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use api::types::{LogEntry, LogQuery};
use model::cause::Cause;
use model::config::IpPrefix;

use super::entry::client_address;

/// The word for any cause.
const ANY: &str = "any";

/// What a line has to have.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    service: Option<String>,
    server: Option<String>,
    statuses: Vec<RangeInclusive<u16>>,
    cause: Option<String>,
    client: Option<IpPrefix>,
    id: Option<String>,
}

/// A filter that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogFilterError {
    #[error("status: '{0}' is none; expected 503, 5xx, 500-599, or several of them with commas")]
    Status(String),
    #[error("cause: there is no '{found}'; there are: any, {known}")]
    Cause { found: String, known: String },
    #[error("client: '{0}' is none; expected an address, or a network such as 192.0.2.0/24")]
    Client(String),
}

impl LogFilter {
    /// Reads the filter of a query. Whether a service or server exists is not known here.
    ///
    /// # Errors
    /// See `LogFilterError`.
    pub fn read(query: &LogQuery) -> Result<LogFilter, LogFilterError> {
        let statuses = match &query.status {
            Some(list) => {
                list.split(',').map(|word| read_statuses(word.trim())).collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        if let Some(cause) = query.cause.as_deref()
            && cause != ANY
            && !Cause::ALL.iter().any(|known| known.name() == cause)
        {
            let known: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
            let error = LogFilterError::Cause { found: cause.to_owned(), known: known.join(", ") };
            return Err(error);
        }
        let client = query
            .client
            .as_deref()
            .map(|text| read_network(text).ok_or_else(|| LogFilterError::Client(text.to_owned())));
        Ok(LogFilter {
            service: query.service.clone(),
            server: query.server.clone(),
            statuses,
            cause: query.cause.clone(),
            client: client.transpose()?,
            id: query.id.clone(),
        })
    }

    /// Whether a line has all of it.
    pub fn fits(&self, entry: &LogEntry) -> bool {
        let status = self.statuses.is_empty()
            || self.statuses.iter().any(|range| range.contains(&entry.status));
        let cause = match self.cause.as_deref() {
            None => true,
            Some(ANY) => entry.cause.is_some(),
            Some(cause) => entry.cause.as_deref() == Some(cause),
        };
        let client = self.client.is_none_or(|network| {
            let address: Option<IpAddr> = client_address(&entry.client).parse().ok();
            address.is_some_and(|address| network.contains(address))
        });
        let server = self.server.as_deref().is_none_or(|wanted| {
            let server = entry.server.as_deref().unwrap_or_default();
            match wanted.strip_suffix('*') {
                Some(before) => !server.is_empty() && server.starts_with(before),
                None => server == wanted,
            }
        });
        let service = self.service.as_ref().is_none_or(|wanted| entry.service == *wanted);
        let id = self.id.is_none() || entry.id == self.id || entry.request_id == self.id;
        status && cause && client && server && service && id
    }
}

fn read_statuses(word: &str) -> Result<RangeInclusive<u16>, LogFilterError> {
    let wrong = || LogFilterError::Status(word.to_owned());
    let number = |text: &str| {
        let status = text.trim().parse::<u16>().map_err(|_| wrong())?;
        if (100..=599).contains(&status) { Ok(status) } else { Err(wrong()) }
    };
    if let Some(class) = word.to_ascii_lowercase().strip_suffix("xx") {
        let first = number(&format!("{class}00"))?;
        return Ok(first..=first + 99);
    }
    let range = match word.split_once('-') {
        Some((first, last)) => number(first)?..=number(last)?,
        None => number(word)?..=number(word)?,
    };
    if range.is_empty() { Err(wrong()) } else { Ok(range) }
}

fn read_network(text: &str) -> Option<IpPrefix> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse().ok()?)),
        None => (text, None),
    };
    let address: IpAddr = address.trim_matches(['[', ']']).parse().ok()?;
    IpPrefix::new(address, bits.unwrap_or(if address.is_ipv4() { 32 } else { 128 }))
}
