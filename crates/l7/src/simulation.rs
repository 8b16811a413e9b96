//! Seeded simulation of a whole worker: clients, stories and servers in virtual time.
//!
//! Every run checks what must hold whatever happens. A failing seed is run again with
//! `STEELYARD_SEED=n cargo test -p l7 simulation`.
//!
//! With the feature `simulation` other crates may play `hostile` connections.

#[cfg(test)]
mod caps;
#[cfg(test)]
mod changes;
#[cfg(test)]
mod client;
#[cfg(test)]
mod drain;
#[cfg(test)]
mod healthy;
#[cfg(test)]
mod hedged;
pub mod hostile;
#[cfg(test)]
mod limited;
mod net;
#[cfg(test)]
mod newcomers;
#[cfg(test)]
mod raw;
#[cfg(test)]
mod resilience;
#[cfg(test)]
mod ruled;
#[cfg(test)]
mod server;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod sources;
mod stage;
#[cfg(test)]
mod stories;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod talk;
#[cfg(test)]
mod tunnels;
#[cfg(test)]
mod unprocessed;
#[cfg(test)]
mod waiting;
mod world;
