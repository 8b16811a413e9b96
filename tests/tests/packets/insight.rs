//! Insight beside tshark on the same traffic: connections over long lines and lossy ones through the packet plane, in both
//! directions (`nat`) and in the client's alone (`mac`, `tunnel`).
//!
//! The capture is made where packets reach the balancer, so counts must be the same to the packet.

mod capture;
mod lived;
mod planted;
mod topology;
