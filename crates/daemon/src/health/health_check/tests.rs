//! Single probes against real little servers, and their scheduling in virtual time. Judging itself is tested in `model`.

mod scheduling;
mod servers;
