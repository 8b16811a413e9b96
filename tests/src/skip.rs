//! Skips a test that cannot run on this machine.
//!
//! The reason is printed. Under `CI=true` a skip is a failure, because a gate that skips proves nothing. The test
//! itself decides whether it can run.

/// Prints the reason for skipping. The calling test must return afterwards.
///
/// # Panics
///
/// The environment has `CI=true`.
#[allow(clippy::panic, reason = "a skipped test must fail the gate")]
#[allow(clippy::print_stdout, reason = "the reason is for the person at the terminal")]
pub fn skip(reason: &str) {
    if std::env::var("CI").is_ok_and(|ci| ci == "true") {
        panic!("skipped, which the gate does not accept: {reason}");
    }
    println!("skipped: {reason}");
}
