//! What the daemon needs of the machine and of its own process: files, sockets, time, events.

pub(crate) mod activity;
pub(crate) mod admin_listeners;
pub mod atomic_file;
pub(crate) mod bpf_pins;
pub(crate) mod duration_text;
pub mod event;
pub mod event_kinds;
pub(crate) mod fd_passing;
pub(crate) mod file_stamps;
pub(crate) mod host_capacity;
pub mod lasting_faults;
pub mod listeners;
pub mod local_time;
pub(crate) mod memory_footprint;
pub(crate) mod monotonic_clock;
pub(crate) mod orphan_reaper;
pub mod packet_socket;
pub mod random_seed;
pub(crate) mod scratch_dir;
pub mod systemd;
pub(crate) mod time_wait;
pub mod wall_clock;
pub mod worker_cpu_time;
