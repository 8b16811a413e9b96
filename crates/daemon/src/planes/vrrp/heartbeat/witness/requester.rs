//! The task that asks the witness for one group: one question at a time, each answered in time or not at all.

use std::time::Duration;

use ha::heartbeat::VrrpGroupKey;
use ha::witness::{WitnessReply, WitnessRequest};
use model::config::{WitnessConfig, WitnessProtocol};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::super::message::{HeartbeatMessage, WitnessAnswer};
use super::etcd::EtcdLock;
use super::http_client::{WitnessHttpClient, WitnessOutcome};
use super::lease::WitnessLease;

/// Requests that may wait: a further one is due only after the last one went unanswered.
const QUEUE_CAPACITY: usize = 1;

pub struct WitnessRequester {
    requests: mpsc::Sender<WitnessRequest>,
    task: JoinHandle<()>,
}

impl Drop for WitnessRequester {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl WitnessRequester {
    /// Starts the requester for the lease of this name and holder. Answers are sent to `to`.
    pub fn start(
        settings: &WitnessConfig,
        name: String,
        holder: String,
        era: u64,
        group: VrrpGroupKey,
        words: mpsc::Sender<HeartbeatMessage>,
    ) -> WitnessRequester {
        let (to, mut inbox) = mpsc::channel::<WitnessRequest>(QUEUE_CAPACITY);
        let callers = || settings.at.iter().map(|at| WitnessHttpClient::new(at.clone(), settings));
        let patience = settings.lease / 3;
        let mut keeper = match settings.by {
            WitnessProtocol::Http => {
                WitnessBackend::Lease(WitnessLease::new(callers(), name, holder, settings.lease))
            }
            WitnessProtocol::Etcd => WitnessBackend::Etcd(EtcdLock::new(
                callers().collect(),
                name,
                holder,
                settings.lease,
            )),
        };
        let task = tokio::spawn(async move {
            while let Some(ask) = inbox.recv().await {
                let WitnessOutcome { reply, text } = keeper.send_request(ask, patience).await;
                let answered = WitnessAnswer { group, number: ask.number, answer: reply, text };
                if words.send(HeartbeatMessage::Witness(era, answered)).await.is_err() {
                    return;
                }
            }
        });
        WitnessRequester { requests: to, task }
    }

    /// Sends a request. A request that cannot be queued counts as unanswered.
    pub fn try_request(&self, ask: WitnessRequest) {
        let _ = self.requests.try_send(ask);
    }

    /// Sends the last request, whose answer is ignored.
    pub async fn release(mut self, ask: WitnessRequest) {
        // Queued requests are sent first, then this one; then the task ends. It fails only if the task has ended.
        let _ = self.requests.send(ask).await;
        self.requests = mpsc::channel(QUEUE_CAPACITY).0;
        // Fails only if the task panicked; the lease then expires by itself.
        let _ = (&mut self.task).await;
    }
}

/// The two ways to ask.
enum WitnessBackend {
    Lease(WitnessLease),
    Etcd(EtcdLock),
}

impl WitnessBackend {
    async fn send_request(&mut self, ask: WitnessRequest, patience: Duration) -> WitnessOutcome {
        let asked = async {
            match self {
                WitnessBackend::Lease(lease) => lease.send_request(ask).await,
                WitnessBackend::Etcd(etcd) => etcd.send_request(ask).await,
            }
        };
        let said = timeout(patience, asked).await;
        match said {
            Ok(Ok(said)) => said,
            Ok(Err(error)) => {
                self.hang_up();
                WitnessOutcome { reply: WitnessReply::NoReply, text: error.to_string() }
            }
            Err(_) => {
                self.hang_up();
                let text = format!("nothing came within {} ms", patience.as_millis());
                WitnessOutcome { reply: WitnessReply::NoReply, text }
            }
        }
    }

    /// The next request uses a new connection, to the next server.
    fn hang_up(&mut self) {
        match self {
            WitnessBackend::Lease(lease) => lease.disconnect(),
            WitnessBackend::Etcd(etcd) => etcd.disconnect(),
        }
    }
}
