//! The datapath as rows: a packet goes in through the kernel's test run, a result and a packet come out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may fail")]

mod capacity;
mod choosing;
mod conversation;
mod cookies;
mod errors;
mod flow_model;
mod fragments;
mod gate;
mod guards;
mod hashing;
mod hops;
mod insight;
mod loading;
mod local;
mod mac;
mod malformed;
mod matrix;
mod nat;
mod normalize;
mod outcomes;
mod outer;
mod oversized;
mod packet;
mod plane_pool;
mod reading;
mod replica;
mod segments;
mod shared;
mod shifted;
mod sources;
mod tunnel;
mod usual;
mod world;
