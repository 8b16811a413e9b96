//! The trace of a request, and the trace context that its server gets (W3C Trace Context).
//!
//! The client's sampling decision is followed. Without one, one request in a configured number is sampled.

use model::time_attribution::ExchangeTrace;
use wire::http1::{Header, TraceContext, TracePropagation};

use crate::accounting::RequestId;
use crate::rt::NetDriver;
use crate::worker::Worker;

/// A request's place in a trace, and its own span.
#[derive(Clone, Copy, Debug)]
pub struct TraceSpan {
    /// The trace and the parent span.
    pub trace: ExchangeTrace,
    /// The request's span, which is its id in the access log.
    pub span: RequestId,
}

impl TraceSpan {
    /// The span for a request with these headers; `None`: tracing is off.
    pub fn from_headers<N: NetDriver>(worker: &Worker<N>, headers: &[Header]) -> Option<TraceSpan> {
        if !worker.options.traces {
            return None;
        }
        let traced = match TraceContext::from_headers(headers) {
            Some(TraceContext { trace, parent, sampled }) => {
                ExchangeTrace { trace, parent, sampled }
            }
            None => {
                let mut rng = worker.rng.borrow_mut();
                // A trace id is never 0.
                let trace = u128::from(rng.next()) << 64 | u128::from(rng.next() | 1);
                ExchangeTrace { trace, parent: 0, sampled: worker.sampler.draw_interval() }
            }
        };
        Some(TraceSpan { trace: traced, span: worker.ids.next_id() })
    }

    /// The trace context that the server gets.
    pub fn outgoing_context(&self) -> TracePropagation {
        let ExchangeTrace { trace, parent, sampled } = self.trace;
        let context = TraceContext { trace, parent: self.span.number(), sampled };
        TracePropagation { context, is_continued: parent != 0 }
    }
}
