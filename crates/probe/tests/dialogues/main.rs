//! Dialogues of probes, played without sockets.

mod any;
mod h2;
mod rows;
mod support;
