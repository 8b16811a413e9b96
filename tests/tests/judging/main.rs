//! Load balancing in the running program: priorities, request hashing, the weight controller, slow start, and the
//! explanations of each.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

mod ranks;
mod weights;
