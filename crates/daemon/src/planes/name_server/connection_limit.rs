//! The limits of TCP connections, in total and for each client. Pure except for its lock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Debug, Default)]
pub(super) struct ClientConnectionLimit(Mutex<HashMap<IpAddr, u32>>);

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionLimitError {
    /// As many as there may be are open.
    TotalReached,
    /// This client has its part.
    PerClientReached,
}

/// A place under the limit, freed on drop.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ClientConnectionLimit>,
    client: IpAddr,
}

impl ClientConnectionLimit {
    /// One more of this client, where there may be `most`, and a quarter of them for one client.
    pub fn acquire(
        self: &Arc<Self>,
        client: IpAddr,
        most: u32,
    ) -> Result<ConnectionPermit, ConnectionLimitError> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.values().sum::<u32>() >= most {
            return Err(ConnectionLimitError::TotalReached);
        }
        let own = held.entry(client).or_default();
        if *own >= most.div_ceil(4) {
            return Err(ConnectionLimitError::PerClientReached);
        }
        *own += 1;
        Ok(ConnectionPermit { limit: Arc::clone(self), client })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut held = self.limit.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = held.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                held.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_has_a_quarter_and_places_come_back() {
        let all = Arc::new(ClientConnectionLimit::default());
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mine: Vec<ConnectionPermit> = (0..2).map(|_| all.acquire(ip(1), 8).unwrap()).collect();
        assert_eq!(all.acquire(ip(1), 8).unwrap_err(), ConnectionLimitError::PerClientReached);
        let _others: Vec<ConnectionPermit> =
            (2..8).map(|last| all.acquire(ip(last), 8).unwrap()).collect();
        assert_eq!(all.acquire(ip(9), 8).unwrap_err(), ConnectionLimitError::TotalReached);
        drop(mine);
        assert!(all.acquire(ip(1), 8).is_ok());
    }
}
