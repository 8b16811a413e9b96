//! Tests of judging, in a file of their own.

mod ejecting;
mod sharing;
