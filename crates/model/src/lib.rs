//! The product's terms and decisions.
//!
//! Everything here is pure: configuration, load balancing, health checks, causes and the shared live counters. It reads
//! no clock, opens no socket and starts no thread; time, randomness and facts come in as arguments.

pub mod acme;
pub mod admission;
pub mod affinity;
pub mod calendar;
pub mod capacity;
pub mod capture;
pub mod cause;
pub mod circuit_breaker;
pub mod client_address;
pub mod compression;
pub mod config;
pub mod cookie;
pub mod counter;
pub mod error_pages;
pub mod exchange_error;
pub mod exchange_failure;
pub mod failure_code;
pub mod flow_samples;
pub mod hash;
pub mod health_check;
pub mod hedging;
pub mod history;
pub mod host;
pub mod id;
pub mod limit;
pub mod load_balancing;
pub mod load_report;
pub mod load_shedding;
pub mod lru_map;
pub mod monotonic_time;
pub mod network_file;
pub mod outlier_detection;
pub mod path;
pub mod preflight;
pub mod query;
pub mod refused_requests;
pub mod renamed_flags;
pub mod renamed_metrics;
pub mod renamed_names;
pub mod request_head;
pub mod retry;
pub mod rules;
pub mod schedule;
pub mod shared_gauge;
pub mod slo;
pub mod slow_threshold;
pub mod snapshot;
pub mod stats;
pub mod table_key;
pub mod time_attribution;
pub mod wait_queue;
pub mod weight_controller;
