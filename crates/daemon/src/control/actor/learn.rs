//! What is taken in between orders: verdicts, words of agents and of the resolver, shares, ejections. Many of them go
//! into one snapshot.

use std::time::SystemTime;

use super::Actor;
use crate::control::handle::Order;
use crate::reconcile::server;

impl Actor {
    /// Takes it in; gives any other order back.
    pub(super) fn learn(&mut self, order: Order) -> Option<Order> {
        let now = SystemTime::now();
        match order {
            Order::Verdict(verdict) => {
                self.server(verdict.server, |facts| server::judged(facts, verdict, now));
            }
            Order::Agent(word) => {
                self.server(word.server, |facts| server::agent_said(facts, word.said, now));
            }
            Order::Resolution(resolution) => self
                .server(resolution.server, |facts| server::resolved(facts, resolution.found, now)),
            Order::Shares(shares) => {
                self.book = self.book.with_shares(&shares);
                self.keep_words();
            }
            Order::Ejected(words) => {
                for (id, ejected) in words {
                    self.server(id, |facts| server::ejected(facts, ejected, now));
                }
            }
            other => return Some(other),
        };
        None
    }
}
