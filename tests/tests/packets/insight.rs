//! Flow samples compared with tshark on the same traffic: connections over long and lossy links through the packet
//! plane, in both directions (`nat`) and in the client's direction alone (`mac`, `tunnel`).
//!
//! The capture is taken at the balancer's interfaces, so the counts must match to the packet.

mod capture;
mod lived;
mod planted;
mod topology;
