//! One side of a shadow run: its network, its stand-in servers and its balancer, and the requests that it is sent.
//!
//! Dropping it ends all of them.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use thiserror::Error;

use super::client::ShadowClient;
use super::identity::ShadowIdentity;
use super::observation::{ExchangeEnd, StepObservation};
use super::place::{PlaceError, ShadowPlace};
use super::plan::ShadowPlan;
use super::process::{BalancerProcess, BalancerProcessError, ProcessPlace};
use super::request::ShadowRequest;
use super::serve_checks::StandInGreeting;
use super::served_record::ServedRecord;
use super::stand_in::StandInServers;
use super::stand_in_resolver::StandInResolver;
use crate::net::NamespaceError;

/// Why a side does not run.
#[derive(Debug, Error)]
pub enum SideError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Process(#[from] BalancerProcessError),
    #[error("the files of the run cannot be written")]
    Files(#[source] io::Error),
    #[error("stand-in servers cannot be started")]
    Servers(#[source] io::Error),
}

/// How a side's balancer is started.
#[derive(Clone, Copy, Debug)]
pub struct SideStart<'a> {
    pub name: &'a str,
    pub command: &'a [String],
    /// The side's directory, with its files in `files`.
    pub dir: &'a Path,
    /// The balancer's program.
    pub program: &'a Path,
    /// Where it answers something else than 404 as soon as it has read its files.
    pub ready: Option<SocketAddr>,
    /// Ends the start early.
    pub stop: &'a AtomicBool,
}

/// A running side.
#[derive(Debug)]
pub struct ShadowSide {
    // Dropped in this order: the balancer first, the network last.
    process: BalancerProcess,
    servers: Vec<StandInServers>,
    _resolvers: Vec<StandInResolver>,
    place: ShadowPlace,
    record: Arc<ServedRecord>,
}

impl ShadowSide {
    pub fn start(
        plan: &ShadowPlan,
        identity: &ShadowIdentity,
        start: SideStart<'_>,
    ) -> Result<ShadowSide, SideError> {
        let place = ShadowPlace::open(plan)?;
        let record = Arc::new(ServedRecord::default());
        let greeting = |address| {
            let found = plan.servers.iter().find(|server| server.address == address);
            found.map_or(StandInGreeting::None, |server| server.greeting.clone())
        };
        let mut servers = Vec::new();
        for (namespace, addresses) in [(&place.balancer, &place.near), (&place.servers, &place.far)]
        {
            let begin = || StandInServers::start(addresses, greeting, &identity.server, &record);
            servers.push(namespace.run_inside(begin)?.map_err(SideError::Servers)?);
        }
        let resolve = || -> io::Result<Vec<StandInResolver>> {
            let all = plan.resolvers.iter();
            all.map(|address| StandInResolver::start(*address, &plan.hosts)).collect()
        };
        let resolvers = place.balancer.run_inside(resolve)?.map_err(SideError::Servers)?;
        let within =
            ProcessPlace { namespace: &place.balancer, dir: start.dir, program: start.program };
        let process = BalancerProcess::start(start.name, start.command, within)?;
        let mut side = ShadowSide { process, servers, _resolvers: resolvers, place, record };
        let listeners: Vec<_> = plan.listeners.iter().map(|listener| listener.to).collect();
        side.process.wait_listening(&side.place.balancer, &listeners, start.stop)?;
        if let Some(ready) = start.ready {
            side.process.wait_ready(&side.place.balancer, ready, start.stop)?;
        }
        Ok(side)
    }

    /// The reason why the side's balancer runs no more.
    pub fn find_death(&self, done: usize) -> Option<SideError> {
        self.process.find_death(done).map(SideError::Process)
    }

    /// Ends stand-in servers, so that connections to them are refused.
    pub fn stop_servers(&mut self, dead: &[SocketAddr]) {
        self.servers.iter_mut().for_each(|servers| servers.stop(dead));
    }

    /// Sends requests until all are sent, or until `stop`. Their marks are their places, from 1.
    pub fn ask(
        &self,
        identity: &ShadowIdentity,
        requests: &[ShadowRequest],
        done: &AtomicUsize,
        stop: &AtomicBool,
    ) -> Result<Vec<Vec<StepObservation>>, SideError> {
        let client = ShadowClient { identity, record: &self.record };
        let all = || {
            let mut seen = Vec::new();
            let mut silence = SilenceWatch::default();
            for (request, mark) in requests.iter().zip(1u32..) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let steps = client.send(request, mark);
                if silence.is_hanging(request, &steps, &client) {
                    let hanging = self.process.hanging(done.load(Ordering::Relaxed));
                    return Err(SideError::Process(hanging));
                }
                seen.push(steps);
                done.fetch_add(1, Ordering::Relaxed);
            }
            Ok(seen)
        };
        self.place.balancer.run_inside(all)?
    }
}

/// Requests without an answer in a row before it is asked whether the balancer hangs.
const SILENT: u32 = 3;

/// Whether a balancer has stopped to answer: requests in a row, and then one that it has answered before.
#[derive(Debug, Default)]
struct SilenceWatch<'a> {
    answered: Option<&'a ShadowRequest>,
    silent: u32,
}

impl<'a> SilenceWatch<'a> {
    fn is_hanging(
        &mut self,
        request: &'a ShadowRequest,
        steps: &[StepObservation],
        client: &ShadowClient<'_>,
    ) -> bool {
        let is_silent = |step: &StepObservation| step.end == ExchangeEnd::TimedOut;
        if !steps.iter().all(is_silent) {
            self.silent = 0;
            if steps.iter().any(|step| step.end == ExchangeEnd::Answered) {
                self.answered = self.answered.or(Some(request));
            }
            return false;
        }
        self.silent += 1;
        let answers = |known: &ShadowRequest| !client.send(known, 0).iter().all(is_silent);
        // Another connection may be all that hangs: that is a difference of this request.
        if self.silent < SILENT || self.answered.is_some_and(answers) {
            return false;
        }
        self.answered.is_some() || self.silent >= SILENT * SILENT
    }
}
