//! Determines which side an attempt waits for: the one that must act before it can continue.
//!
//! Both directions may be blocked. Then the response decides, except for a server that cannot respond before it has the
//! rest of the request.

use model::time_attribution::WaitReason;

use super::{AttemptRelay, RelayContext, RelayWait};
use crate::conn::sampling;
use crate::rt::NetDriver;

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Corrects the recorded wait before the attempt continues: once the connection had sent all bytes, the attempt
    /// waited for the stream's window; and a thread that did not run kept it waiting.
    pub(super) fn recall_wait(&mut self) -> &mut Self {
        let RelayContext { worker, client, server, .. } = self.context;
        let held = worker.rt.run_delay.held_since();
        sampling::recall_wait(&mut self.record.sample, client, server, held);
        self
    }

    /// Records the side that the attempt waits for from now on.
    pub(super) fn record_wait(&mut self) {
        let worker = self.context.worker;
        let reason = self.waits_for();
        sampling::record_wait(
            &worker.sampler,
            &mut self.record.sample,
            self.context.client,
            self.context.server,
            reason,
            worker.rt.now(),
        );
    }

    fn waits_for(&self) -> WaitReason {
        let up = if self.uploaded || self.server_stopped_reading {
            RelayWait::Nobody
        } else {
            self.up_wait
        };
        let down = if self.answer.is_some() { Some(self.down_wait) } else { None };
        match (down, up) {
            (Some(RelayWait::Nobody), _) => WaitReason::Balancer,
            (Some(RelayWait::Client), _) if self.context.client.window_closed().is_some() => {
                WaitReason::StreamWindow
            }
            (Some(RelayWait::Client), _) => WaitReason::ClientReceive,
            (_, RelayWait::Client) => WaitReason::ClientSend,
            (_, RelayWait::Server) if self.context.server.window_closed().is_some() => {
                WaitReason::ServerStreamWindow
            }
            (_, RelayWait::Server) => WaitReason::ServerReceive,
            (Some(RelayWait::Server), RelayWait::Nobody) => WaitReason::ServerSend,
            (None, RelayWait::Nobody) if self.uploaded || self.server_stopped_reading => {
                WaitReason::ServerResponse
            }
            (None, RelayWait::Nobody) => WaitReason::Balancer,
        }
    }
}
