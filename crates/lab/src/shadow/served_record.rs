//! What stand-in servers are, and the record of what they served on one side of the comparison.
//!
//! Requests are found by the mark that they carry, or by the number that their answer names.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;

use super::observation::SeenRequest;
use super::serve_checks::StandInGreeting;

/// What a stand-in server is.
#[derive(Debug)]
pub struct ServerContext {
    pub address: SocketAddr,
    /// What it says first.
    pub greeting: StandInGreeting,
    pub tls: Arc<ServerConfig>,
    pub record: Arc<ServedRecord>,
}

/// The most requests in the record. Health checks are in it too, so it must not grow.
const RECORD_MAX: usize = 4_096;

/// A request in the record, with the mark that it carried.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// The number in the mark field; `None`: health checks, and requests whose fields were dropped.
    pub mark: Option<u32>,
    /// Its place in the record, from 1.
    pub number: u64,
    pub request: SeenRequest,
}

/// What all stand-in servers of one side served.
#[derive(Debug, Default)]
pub struct ServedRecord {
    requests: Mutex<VecDeque<RecordedRequest>>,
    last: AtomicU64,
}

impl ServedRecord {
    /// Enters a request and returns its number.
    pub fn enter(&self, mark: Option<u32>, request: SeenRequest) -> u64 {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        if requests.len() >= RECORD_MAX {
            requests.pop_front();
        }
        requests.push_back(RecordedRequest { mark, number, request });
        number
    }

    /// Takes the requests with this mark, or with this number, and forgets all others.
    pub fn take(&self, mark: u32, number: Option<u64>) -> Vec<SeenRequest> {
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = |one: &RecordedRequest| one.mark == Some(mark) || Some(one.number) == number;
        requests.drain(..).filter(wanted).map(|one| one.request).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_gives_a_request_by_its_mark_or_number_and_forgets_the_rest() {
        let record = ServedRecord::default();
        let request = |target: &str| SeenRequest {
            server: SocketAddr::from(([127, 0, 0, 1], 80)),
            method: "GET".into(),
            target: target.into(),
            fields: Vec::new(),
            body_bytes: 0,
            proxy_header: false,
            tls: false,
        };
        record.enter(None, request("/check"));
        record.enter(Some(7), request("/a"));
        let number = record.enter(None, request("/b"));
        let taken = record.take(7, Some(number));
        let targets: Vec<&str> = taken.iter().map(|one| one.target.as_str()).collect();
        assert_eq!(targets, ["/a", "/b"]);
        assert!(record.take(7, Some(number)).is_empty());
        (0..RECORD_MAX + 5).for_each(|_| {
            record.enter(Some(1), request("/x"));
        });
        assert_eq!(record.take(1, None).len(), RECORD_MAX);
    }
}
