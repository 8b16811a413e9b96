//! What rules say of one request or connection: asked once, at its beginning.
//!
//! The table and the state it looks at are `model::rules`; this gives it a worker's view. It sends nothing.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use model::cause::Cause;
use model::config::{Action, LimitBy};
use model::head::Head;
use model::rules::{Compiled, Found, RuleLive, Ruling, Standing, Todo, View};
use model::snapshot::ServiceView;
use model::table_key;

use crate::local::{LocalPool, LocalService};
use crate::rt::Net;
use crate::worker::Worker;

/// A rule that took something, which it counts as under way until this is dropped.
pub struct Taken {
    /// The rules of the service.
    pub ruling: Arc<Ruling>,
    /// Which one.
    pub at: usize,
}

/// What is to be done.
pub enum Ruled<N: Net> {
    /// A pool takes it; `None`: the service's.
    Pool(Option<Rc<LocalPool<N>>>, Option<Taken>),
    /// It ends here, for this cause.
    Refused(Cause, Option<Taken>),
    /// It gets the answer of the rule.
    Answer(Taken),
}

impl Taken {
    fn new(ruling: &Arc<Ruling>, at: usize) -> Taken {
        if let Some(live) = ruling.live.get(at) {
            live.in_flight.up();
        }
        Taken { ruling: ruling.clone(), at }
    }

    /// The rule.
    pub fn rule(&self) -> Option<&Compiled> {
        self.ruling.table.rules().get(self.at)
    }

    /// What it counts.
    pub fn live(&self) -> Option<&Arc<RuleLive>> {
        self.ruling.live.get(self.at)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(live) = self.live() {
            live.in_flight.down();
        }
    }
}

/// Asks the rules. `sni` and `head` as far as there are any.
pub fn ask<N: Net>(
    worker: &Worker<N>,
    service: &LocalService<N>,
    view: &ServiceView,
    ruling: &Arc<Ruling>,
    peer: SocketAddr,
    sni: Option<&str>,
    head: Option<&Head<'_>>,
) -> Ruled<N> {
    let unix_ms = worker.unix_ms();
    let mut unix_seconds = (unix_ms / 1000) as i64;
    if ruling.table.wants_time() {
        unix_seconds += (worker.options.utc_offset)(unix_seconds);
    }
    let asked = View { client: peer, sni, tos: None, head, unix_seconds };
    let pools = service.rule_pools.borrow();
    let pool = |at: usize| pools.get(at).map(|pool| pool.view.borrow().clone());
    let standing = Standing {
        ruling,
        service: view,
        pool: &pool,
        now: worker.rt.now(),
        worker: Some(worker.index),
    };
    let at = match ruling.table.find(&asked, &standing) {
        Found::Nothing => return Ruled::Pool(None, None),
        Found::NoServer(at) => {
            return Ruled::Refused(Cause::NoServer, Some(hit(worker, ruling, at, unix_ms)));
        }
        Found::Ambiguous(_) => return Ruled::Refused(Cause::AmbiguousPath, None),
        Found::AmbiguousRequest(_) => return Ruled::Refused(Cause::AmbiguousRequest, None),
        Found::Rule(at) => at,
    };
    let taken = hit(worker, ruling, at, unix_ms);
    if let Some(limiter) = taken.live().and_then(|live| live.limiter.as_ref()) {
        let key =
            view.config.rules.get(at).and_then(|rule| rule.limit.as_ref()).and_then(|limit| {
                match &limit.by {
                    LimitBy::Rule => None,
                    LimitBy::Address(mask4, mask6) => {
                        Some(table_key::network(peer.ip(), *mask4, *mask6))
                    }
                    LimitBy::Header(name) => {
                        let value = head.and_then(|head| head.field(name.as_bytes()).next());
                        Some(table_key::part(value.unwrap_or_default()))
                    }
                }
            });
        if !limiter.lets(key, worker.rt.now()) {
            if let Some(slot) = taken.live().and_then(|live| live.slots.get(worker.index)) {
                slot.counters.limited.add(1);
            }
            return Ruled::Refused(Cause::RateLimited, Some(taken));
        }
    }
    let Some(rule) = taken.rule() else { return Ruled::Pool(None, None) };
    match &rule.todo {
        Todo::Deny => Ruled::Refused(Cause::RuleDenied, Some(taken)),
        Todo::Redirect(..) | Todo::Answer => Ruled::Answer(taken),
        Todo::Pool(_) | Todo::Split(..) => {
            let draw = |sum: u64| worker.rng.borrow_mut().below(sum);
            let chosen = rule.choose(draw, &standing).and_then(|at| pools.get(at).cloned());
            Ruled::Pool(chosen, Some(taken))
        }
    }
}

fn hit<N: Net>(worker: &Worker<N>, ruling: &Arc<Ruling>, at: usize, unix_ms: u64) -> Taken {
    let taken = Taken::new(ruling, at);
    if let Some(slot) = taken.live().and_then(|live| live.slots.get(worker.index)) {
        slot.hit(unix_ms);
    }
    taken
}

/// The answer that a rule makes itself: its status, its fields as lines, and its body.
pub fn made(taken: &Taken, view: &ServiceView, head: &Head<'_>) -> (u16, Vec<u8>, Vec<u8>) {
    let mut lines = Vec::new();
    let Some(rule) = taken.rule() else { return (500, lines, Vec::new()) };
    if let Todo::Redirect(to, status) = &rule.todo {
        let path = rule.base(head);
        let (rest, groups) = rule.parts(&path);
        let with = model::config::template::Filling {
            host: head.authority(),
            path: &path,
            query: head.query(),
            rest,
            groups,
        };
        lines.extend_from_slice(b"Location: ");
        to.location(&with, &mut lines);
        lines.extend_from_slice(b"\r\n");
        return (*status, lines, Vec::new());
    }
    let Some(Action::Answer(answer)) = view.config.rules.get(taken.at).map(|rule| &rule.action)
    else {
        return (500, lines, Vec::new());
    };
    if !answer.body.is_empty() {
        for part in ["Content-Type: ", &answer.content_type, "\r\n"] {
            lines.extend_from_slice(part.as_bytes());
        }
    }
    for field in &answer.headers {
        let (name, value) = field.split_once(':').unwrap_or((field, ""));
        for part in [name, ": ", value.trim(), "\r\n"] {
            lines.extend_from_slice(part.as_bytes());
        }
    }
    (answer.status, lines, answer.body.clone().into_bytes())
}
