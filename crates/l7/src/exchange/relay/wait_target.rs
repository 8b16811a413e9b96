//! For whom an attempt waits: the one side whose move lets it go on.
//!
//! Both directions may stand still at once. Then the answer decides, but for a server that can say nothing more before
//! it has the rest of the request.

use model::time_attribution::WaitReason;

use super::{AttemptRelay, RelayWait};
use crate::conn::sampling;
use crate::rt::NetDriver;

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Before it goes on: what seemed to be the client's connection was the window of its stream, from when on the
    /// connection had accepted all bytes.
    pub(super) fn recall_wait(&mut self) -> &mut Self {
        sampling::recall_client_wait(&mut self.record.sample, self.context.client);
        self
    }

    /// Counts for whom it waits from now on.
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
            (_, RelayWait::Server) => WaitReason::ServerReceive,
            (Some(RelayWait::Server), RelayWait::Nobody) => WaitReason::ServerSend,
            (None, RelayWait::Nobody) if self.uploaded || self.server_stopped_reading => {
                WaitReason::ServerResponse
            }
            (None, RelayWait::Nobody) => WaitReason::Balancer,
        }
    }
}
