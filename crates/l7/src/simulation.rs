//! Seeded simulation of a whole worker: clients, tasks and servers in virtual time.
//!
//! Every run checks invariants. To repeat a failing seed, run `STEELYARD_SEED=n cargo test -p l7 simulation`.
//!
//! With the feature `simulation` other crates may run `hostile` connections.

#[cfg(test)]
mod body_limits;
#[cfg(test)]
mod caps;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod client;
#[cfg(test)]
mod drain;
#[cfg(any(test, feature = "simulation"))]
pub(crate) mod fixture;
mod harness;
#[cfg(test)]
mod hedging;
pub mod hostile;
#[cfg(test)]
mod http2_echo;
#[cfg(test)]
mod impatient_clients;
#[cfg(test)]
mod limits;
pub(crate) mod net;
#[cfg(test)]
mod new_clients;
#[cfg(test)]
mod no_failures;
#[cfg(test)]
mod quiet;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod resilience;
#[cfg(test)]
mod routing;
#[cfg(test)]
mod rule_settings;
#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod server;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod source_ports;
#[cfg(test)]
mod stream_client;
#[cfg(test)]
mod tunnel_peer;
#[cfg(test)]
mod tunnels;
#[cfg(test)]
mod unprocessed;
mod world;
