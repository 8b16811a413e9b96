//! Sharing out work in the running program: ranks, hashes of requests, the judge, slow start, and what explains them.

#![allow(clippy::unwrap_used, reason = "helpers of tests, which may fail")]

mod ranks;
mod weights;
