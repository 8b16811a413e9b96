//! Tests of judging, in a file of their own.

mod sharing;
