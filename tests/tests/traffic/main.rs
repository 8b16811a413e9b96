//! Decent traffic through the built program: curl, ab and wrk in front, nginx and the lab's origins behind.

mod choosing;
mod clients;
mod headers;
mod seen;
mod tunnels;
