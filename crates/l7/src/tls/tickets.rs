//! Keys that seal session tickets: shared by all workers, replaced as time passes.
//!
//! They live in memory alone: the next process makes its own, and its clients shake hands in full once.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rustls::TicketRotator;
use rustls::crypto::GetRandomFailed;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::ProducesTickets;

use super::aside;

/// The keys of one service. They outlive its certificates, so that a new certificate ends no session.
#[derive(Clone)]
pub struct Tickets {
    rotator: Arc<dyn ProducesTickets>,
    /// How long one key seals.
    pub period: Duration,
}

impl Tickets {
    /// New keys, replaced every `period`; those before are kept for another one.
    ///
    /// # Errors
    /// The system has no randomness to give.
    pub fn new(period: Duration) -> Result<Tickets, rustls::Error> {
        let seconds = u32::try_from(period.as_secs()).unwrap_or(u32::MAX).max(1);
        let rotator = Arc::new(TicketRotator::new(seconds, key)?);
        Ok(Tickets { rotator, period })
    }

    pub(super) fn producer(&self) -> Arc<dyn ProducesTickets> {
        Arc::new(Lineage(self.rotator.clone()))
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Tickets({:?})", self.period)
    }
}

/// Tickets that say which session they continue, so that a client can be known again by it.
#[derive(Debug)]
struct Lineage(Arc<dyn ProducesTickets>);

impl ProducesTickets for Lineage {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }
    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let lineage = aside::lineage(drawn);
        self.0.encrypt(&[&lineage.to_be_bytes(), plain].concat())
    }
    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let all = self.0.decrypt(cipher)?;
        let (lineage, plain) = all.split_first_chunk::<8>()?;
        aside::continues(u64::from_be_bytes(*lineage));
        Some(plain.to_vec())
    }
}

/// A number that no other session has; without randomness all are one, and keeping clients is coarser.
fn drawn() -> u64 {
    let mut bytes = [0; 8];
    let _ = rustls::crypto::aws_lc_rs::default_provider().secure_random.fill(&mut bytes);
    u64::from_be_bytes(bytes)
}

fn key() -> Result<Box<dyn ProducesTickets>, GetRandomFailed> {
    Ok(Box::new(Key(Ticketer::new().map_err(|_| GetRandomFailed)?)))
}

/// One key, as the rotator wants it.
#[derive(Debug)]
struct Key(Arc<dyn ProducesTickets>);

impl ProducesTickets for Key {
    fn enabled(&self) -> bool {
        self.0.enabled()
    }
    fn lifetime(&self) -> u32 {
        self.0.lifetime()
    }
    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        self.0.encrypt(plain)
    }
    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        self.0.decrypt(cipher)
    }
}
