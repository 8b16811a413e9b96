//! Who may have how many connections over TCP. Pure but for its lock.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Connections by client.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<HashMap<IpAddr, u32>>);

/// Why there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    /// As many as there may be are open.
    Full,
    /// This client has its part.
    Client,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<Connections>,
    client: IpAddr,
}

impl Connections {
    /// One more of this client, where there may be `most`, and a quarter of them for one client.
    pub fn take(self: &Arc<Self>, client: IpAddr, most: u32) -> Result<Place, NoRoom> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.values().sum::<u32>() >= most {
            return Err(NoRoom::Full);
        }
        let own = held.entry(client).or_default();
        if *own >= most.div_ceil(4) {
            return Err(NoRoom::Client);
        }
        *own += 1;
        Ok(Place { of: Arc::clone(self), client })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let all = Arc::new(Connections::default());
        let ip = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mine: Vec<Place> = (0..2).map(|_| all.take(ip(1), 8).unwrap()).collect();
        assert_eq!(all.take(ip(1), 8).unwrap_err(), NoRoom::Client);
        let _others: Vec<Place> = (2..8).map(|last| all.take(ip(last), 8).unwrap()).collect();
        assert_eq!(all.take(ip(9), 8).unwrap_err(), NoRoom::Full);
        drop(mine);
        assert!(all.take(ip(1), 8).is_ok());
    }
}
