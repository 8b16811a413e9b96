//! HTTP/2: with clients, with servers, under attack, and how connections end.

#![allow(clippy::unwrap_used, reason = "a test that fails is told best by panicking")]

mod attacks;
mod clients;
mod ends;
mod grpc;
mod h2spec;
mod peers;
mod refused;
mod servers;
mod websockets;
