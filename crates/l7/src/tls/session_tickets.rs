//! Keys that encrypt session tickets: shared by all workers, rotated periodically.
//!
//! The keys are stored in memory only: after a restart new keys are created, and each client performs one full
//! handshake.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::pki_types::UnixTime;
use rustls::server::ProducesTickets;

use super::handshake_observation::{self, TicketContents, UnwrappedTicket};

/// The ticket keys of one service. They outlive its certificates, so that a new certificate does not end sessions.
#[derive(Clone)]
pub struct SessionTickets {
    rotator: Arc<dyn ProducesTickets>,
    /// How long a key encrypts new tickets.
    pub period: Duration,
}

impl SessionTickets {
    /// New keys, replaced every `period`; the previous ones stay valid for another period.
    ///
    /// # Errors
    /// The system provides no randomness.
    pub fn new(period: Duration) -> Result<SessionTickets, rustls::Error> {
        let seal = Ticketer::new()?;
        let keys = TicketKeys { seal, previous: None, since: Instant::now() };
        Ok(SessionTickets {
            rotator: Arc::new(TicketRotator { period, keys: RwLock::new(keys) }),
            period,
        })
    }

    pub(super) fn producer(&self) -> Arc<dyn ProducesTickets> {
        Arc::new(LineageTicketer(self.rotator.clone()))
    }
}

impl fmt::Debug for SessionTickets {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Tickets({:?})", self.period)
    }
}

/// Adds a session number to tickets, so that affinity recognises a client that resumes.
#[derive(Debug)]
struct LineageTicketer(Arc<dyn ProducesTickets>);

impl ProducesTickets for LineageTicketer {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }
    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(&handshake_observation::new_ticket(draw_lineage).wrap(plain))
    }
    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let all = self.0.decrypt(cipher)?;
        let UnwrappedTicket { contents, plain } = TicketContents::unwrap_from(&all)?;
        // A client whose certificate has expired must perform a full handshake, which reports the expiry.
        if !contents.is_good(UnixTime::now().as_secs()) {
            return None;
        }
        handshake_observation::note_resumption(contents);
        Some(plain.to_vec())
    }
}

/// A random number for a new session. Without randomness all sessions share one number, which makes affinity coarser.
fn draw_lineage() -> u64 {
    let mut bytes = [0; 8];
    // A failure leaves zeros, which all sessions then share.
    let _ = rustls::crypto::aws_lc_rs::default_provider().secure_random.fill(&mut bytes);
    u64::from_be_bytes(bytes)
}

/// Rotates the keys by a monotonic clock: a wall clock that is set back would delay the rotation.
#[derive(Debug)]
struct TicketRotator {
    period: Duration,
    keys: RwLock<TicketKeys>,
}

#[derive(Clone, Debug)]
struct TicketKeys {
    seal: Arc<dyn ProducesTickets>,
    /// The key that encrypted tickets before.
    previous: Option<Arc<dyn ProducesTickets>>,
    since: Instant,
}

impl TicketKeys {
    fn rotate(&mut self, now: Instant, period: Duration, new: Arc<dyn ProducesTickets>) {
        let old = std::mem::replace(&mut self.seal, new);
        self.previous = (now.duration_since(self.since) < period * 2).then_some(old);
        self.since = now;
    }
}

impl TicketRotator {
    /// The keys that are valid at this time.
    fn keys(&self, now: Instant) -> TicketKeys {
        let due = |keys: &TicketKeys| now.duration_since(keys.since) >= self.period;
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        if !due(&keys) {
            return keys.clone();
        }
        drop(keys);
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        // Without randomness the old key stays in use. Another worker may have rotated the keys meanwhile.
        if due(&keys)
            && let Ok(new) = Ticketer::new()
        {
            keys.rotate(now, self.period, new);
        }
        keys.clone()
    }
}

impl ProducesTickets for TicketRotator {
    fn enabled(&self) -> bool {
        true
    }
    fn lifetime(&self) -> u32 {
        u32::try_from(self.period.as_secs()).unwrap_or(u32::MAX).max(1)
    }
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.keys(Instant::now()).seal.encrypt(plain)
    }
    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let TicketKeys { seal, previous, .. } = self.keys(Instant::now());
        seal.decrypt(cipher).or_else(|| previous?.decrypt(cipher))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_opens_for_one_period_after_that_of_its_key() {
        let period = Duration::from_secs(60);
        let begun = Instant::now();
        let keys = TicketKeys { seal: Ticketer::new().unwrap(), previous: None, since: begun };
        let rotator = TicketRotator { period, keys: RwLock::new(keys) };
        let ticket = rotator.keys(begun).seal.encrypt(b"session").unwrap();
        let opens = |at: Duration| {
            let TicketKeys { seal, previous: before, .. } = rotator.keys(begun + at);
            let opened = seal.decrypt(&ticket).or_else(|| before?.decrypt(&ticket));
            opened.is_some_and(|plain| plain == b"session")
        };
        let second = Duration::from_secs(1);
        assert!(opens(period - second) && opens(period) && opens(period * 2 - second));
        assert!(!opens(period * 2), "two keys later");
        let ticket = rotator.keys(begun + period * 2).seal.encrypt(b"session").unwrap();
        let TicketKeys { seal, previous: before, .. } = rotator.keys(begun + period * 9);
        assert!(seal.decrypt(&ticket).is_none() && before.is_none(), "nobody came for long");
    }
}
