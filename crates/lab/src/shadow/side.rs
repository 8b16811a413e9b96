//! One side of a shadow run: its network, its stand-in servers and its balancer, and the requests that it is sent.
//!
//! Dropping it ends all of them.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use thiserror::Error;

use super::client::ShadowClient;
use super::identity::ShadowIdentity;
use super::observation::StepObservation;
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
    /// Steelyard's program.
    pub program: &'a Path,
    /// Ends the start early.
    pub stop: &'a AtomicBool,
}

/// A running side.
#[derive(Debug)]
pub struct ShadowSide {
    // Dropped in this order: the balancer first, the network last.
    process: BalancerProcess,
    _servers: Vec<StandInServers>,
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
        let mut side =
            ShadowSide { process, _servers: servers, _resolvers: resolvers, place, record };
        let listeners: Vec<_> = plan.listeners.iter().map(|listener| listener.to).collect();
        side.process.wait_listening(&side.place.balancer, &listeners, start.stop)?;
        Ok(side)
    }

    /// Sends requests until all are sent, or until `stop`. Their marks are their places, from `from`.
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
            for (request, mark) in requests.iter().zip(1u32..) {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                seen.push(client.send(request, mark));
                done.fetch_add(1, Ordering::Relaxed);
            }
            seen
        };
        Ok(self.place.balancer.run_inside(all)?)
    }
}
