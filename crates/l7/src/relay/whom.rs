//! For whom an attempt waits: the one side whose move lets it go on.
//!
//! Both directions may stand still at once. Then the answer decides, but for a server that can say nothing more before
//! it has the rest of the request.

use model::attribute::For;

use super::{Relay, Waits};
use crate::measured;
use crate::rt::Net;

impl<N: Net> Relay<'_, N> {
    /// Before it goes on: what seemed to be the client's connection was the window of its stream, from when on the
    /// connection had taken all that there was.
    pub(super) fn recalled(&mut self) -> &mut Self {
        measured::recall(&mut self.record.measured, self.ends.client);
        self
    }

    /// Counts for whom it waits from now on.
    pub(super) fn waits(&mut self) {
        let ends = (self.ends.client, self.ends.server);
        let (worker, whom) = (self.ends.worker, self.whom());
        measured::wait(&worker.lot, &mut self.record.measured, ends, whom, worker.rt.now());
    }

    fn whom(&self) -> For {
        let up = if self.uploaded || self.server_deaf { Waits::Nobody } else { self.up_waits };
        let down = if self.answer.is_some() { Some(self.down_waits) } else { None };
        match (down, up) {
            (Some(Waits::Nobody), _) => For::Us,
            (Some(Waits::Client), _) if self.ends.client.window_closed().is_some() => {
                For::StreamTakes
            }
            (Some(Waits::Client), _) => For::ClientTakes,
            (_, Waits::Client) => For::ClientSends,
            (_, Waits::Server) => For::ServerTakes,
            (Some(Waits::Server), Waits::Nobody) => For::ServerSends,
            (None, Waits::Nobody) if self.uploaded || self.server_deaf => For::Answer,
            (None, Waits::Nobody) => For::Us,
        }
    }
}
