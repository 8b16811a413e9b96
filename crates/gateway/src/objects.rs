//! The objects that are read, with the fields that are looked at.
//!
//! The types are the crate's own: those of the crate `gateway-api` come with a whole client of Kubernetes, and reject
//! a value without naming its field.

pub mod gateways;
pub mod ingresses;
pub mod kubernetes_object;
pub mod metadata;
pub mod references;
pub mod routes;
pub mod workloads;
