//! The `steelyard` program.
fn main() {}
