//! One ordered certificate, as long as it is configured: waits, orders, and reports the result.
//!
//! `model::acme` decides when an order is due; `order` carries it out.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use instant_acme::CertificateIdentifier;
use l7::tls::identity::TlsIdentity;
use model::acme::{CertificateValidity, RenewalSchedule, RenewalWindow};
use model::config::{AcmeConfig, EventLevel};
use rustls::pki_types::CertificateDer;

use super::order::{self, CertificateOrderError};
use super::paths;
use super::status::AcmeOrders;
use crate::state::ControlHandle;
use crate::state::cert_status::format_date;
use crate::tls::cert_files;
use crate::util::event::EventFields;
use crate::util::random_seed;

/// An order that takes this long counts as failed, and is tried again later.
const LIMIT: Duration = Duration::from_secs(600);
/// Between two looks at the time of day, which may have been set.
/// Renewals are due to the hour; a clock that was set is noticed within half a minute.
const LOOK: Duration = Duration::from_secs(30);
/// Bounds of the delay between queries for the renewal window, in seconds. The authority suggests the delay (RFC 9773
/// §4.3).
const ASK: (u64, u64) = (3_600, 86_400);

pub(super) struct RenewalJob {
    pub control: ControlHandle,
    pub board: Arc<AcmeOrders>,
    pub state: PathBuf,
    pub key: String,
    pub acme: AcmeConfig,
}

impl RenewalJob {
    /// Until it is ended.
    pub(super) async fn run(self) {
        let mut held = self.stored_certificate();
        let good = held.as_ref().and_then(life);
        let mut renewal = RenewalSchedule::new(self.acme.retry.as_secs().max(1), good, draw());
        let mut ask_at = 0;
        let mut id = None;
        let mut before = 0;
        loop {
            let now = now();
            if now < before {
                // A due time that was computed by a clock ahead of time may be years away.
                let good = held.as_ref().and_then(life);
                renewal = RenewalSchedule::new(self.acme.retry.as_secs().max(1), good, draw());
                ask_at = 0;
            }
            before = now;
            if let Some(identity) = held.as_ref().filter(|_| now >= ask_at) {
                id = identifier(identity);
                let (window, again) = self.suggestion(id.as_ref()).await;
                renewal.set_suggested_window(window);
                ask_at = now + again.clamp(ASK.0, ASK.1);
            }
            let due = renewal.due_at();
            self.note(Some(due), &renewal);
            if now < due {
                tokio::time::sleep(Duration::from_secs(due - now).min(LOOK)).await;
                continue;
            }
            self.note(None, &renewal);
            // After a failure the order has no `replaces`: the authority may have replaced that certificate already, or
            // not know it.
            let replaces = id.clone().filter(|_| renewal.failures() == 0);
            match self.order_certificate(replaces).await {
                Ok(identity) => {
                    let good =
                        life(&identity).unwrap_or(CertificateValidity { from: now, to: now });
                    renewal.record_success(self::now(), good, draw());
                    self.board
                        .note(&self.key, |row| (row.done, row.trouble) = (row.done + 1, None));
                    held = Some(identity);
                    ask_at = 0;
                }
                Err(why) => {
                    renewal.record_failure(self::now(), None, draw());
                    self.failed(why, held.as_ref(), &renewal);
                }
            }
        }
    }

    async fn order_certificate(
        &self,
        replaces: Option<CertificateIdentifier<'static>>,
    ) -> Result<TlsIdentity, String> {
        let order = order::order_certificate(&self.control, &self.state, &self.acme, replaces);
        match tokio::time::timeout(LIMIT, order).await {
            Ok(done) => done.map_err(|error: CertificateOrderError| error.to_string()),
            Err(_) => {
                self.control.publish_proof(self.key.clone(), None).await;
                Err(format!("it was not done within {} s", LIMIT.as_secs()))
            }
        }
    }

    /// The authority's suggested renewal time, and the seconds until the next query. Without a suggestion the renewal
    /// is due after two thirds of the lifetime.
    async fn suggestion(
        &self,
        id: Option<&CertificateIdentifier<'_>>,
    ) -> (Option<RenewalWindow>, u64) {
        let ask = async {
            let account = order::account(&self.state, &self.acme).await.ok()?;
            account.renewal_info(id?).await.ok()
        };
        let Ok(Some((info, again))) = tokio::time::timeout(LIMIT, ask).await else {
            return (None, ASK.0);
        };
        let seconds = |moment: i64| u64::try_from(moment).unwrap_or(0);
        let window = info.suggested_window;
        let from = window.start.unix_timestamp();
        let to = window.end.unix_timestamp();
        (Some(RenewalWindow { from: seconds(from), to: seconds(to) }), again.as_secs())
    }

    /// The certificate on disk, if it is good for these names.
    fn stored_certificate(&self) -> Option<TlsIdentity> {
        let file = paths::certificate_path(&self.state, &self.acme);
        let identity = cert_files::read_pair(&file).ok()?.identity;
        let has = |name: &String| identity.facts.names.contains(name);
        self.acme.names.iter().all(has).then_some(identity)
    }

    fn failed(&self, why: String, held: Option<&TlsIdentity>, renewal: &RenewalSchedule) {
        let names = self.acme.names.join(", ");
        let wait = Duration::from_secs(renewal.due_at().saturating_sub(now()));
        let has = match held {
            Some(identity) => {
                format!("the active one is good until {}", format_date(identity.facts.not_after))
            }
            None => "there is none".to_owned(),
        };
        let text = format!(
            "the certificate of {names} was not issued by {}: {why}; {has}; next attempt in {} s",
            self.acme.directory,
            wait.as_secs(),
        );
        let about = EventFields::from([
            ("names", names),
            ("directory", self.acme.directory.clone()),
            ("why", why.clone()),
            ("failures", renewal.failures().to_string()),
            ("next-unix-ms", renewal.due_at().saturating_mul(1000).to_string()),
        ]);
        self.control.events().emit(EventLevel::Error, "acme-failed", text, about);
        self.board.note(&self.key, |row| {
            row.failed += 1;
            row.trouble = Some(why);
        });
    }

    fn note(&self, next: Option<u64>, renewal: &RenewalSchedule) {
        self.board.note(&self.key, |row| {
            row.names.clone_from(&self.acme.names);
            row.directory.clone_from(&self.acme.directory);
            row.next = next;
            row.failures = renewal.failures();
        });
    }
}

fn life(identity: &TlsIdentity) -> Option<CertificateValidity> {
    let seconds = |moment: i64| u64::try_from(moment).ok();
    let from = identity.facts.not_before;
    let to = identity.facts.not_after;
    Some(CertificateValidity { from: seconds(from)?, to: seconds(to)? })
}

fn identifier(identity: &TlsIdentity) -> Option<CertificateIdentifier<'static>> {
    let certified = identity.certified();
    let own: &CertificateDer<'_> = certified.cert.first()?;
    CertificateIdentifier::try_from(own).ok().map(CertificateIdentifier::into_owned)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn draw() -> u16 {
    (random_seed::random_seed() >> 16) as u16
}
