//! Which trace a request is part of, and what its server is told of it (W3C Trace Context).
//!
//! Whoever asks decides whether it is recorded; where nobody did, one in so many is. It sends nothing.

use model::attribute::Traced;
use wire::http1::{Header, TraceContext, Tracing};

use crate::account::Id;
use crate::rt::Net;
use crate::worker::Worker;

/// A request's place in a trace, and its own span.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Where it comes from.
    pub traced: Traced,
    /// Its span, which is its id in the access log.
    pub span: Id,
}

impl Place {
    /// Of a request; `None`: traces are nobody's business here.
    pub fn of<N: Net>(worker: &Worker<N>, headers: &[Header]) -> Option<Place> {
        if !worker.options.traces {
            return None;
        }
        let traced = match TraceContext::of(headers) {
            Some(TraceContext { trace, parent, sampled }) => Traced { trace, parent, sampled },
            None => {
                let mut rng = worker.rng.borrow_mut();
                // 0 is no trace.
                let trace = u128::from(rng.next()) << 64 | u128::from(rng.next() | 1);
                Traced { trace, parent: 0, sampled: worker.lot.draw() }
            }
        };
        Some(Place { traced, span: worker.ids.next() })
    }

    /// What the server is told.
    pub fn told(&self) -> Tracing {
        let Traced { trace, parent, sampled } = self.traced;
        let context = TraceContext { trace, parent: self.span.number(), sampled };
        Tracing { context, carried_on: parent != 0 }
    }
}
