//! What probes and agents say and understand: bytes in, bytes and a verdict with its evidence out.
//!
//! One file a protocol, each a state machine without socket, clock or thread; times and sockets are the shell's
//! (`daemon`). Which verdict takes a server down is `model::health`'s to say.

pub mod agent;
mod answer;
mod ber;
pub mod context;
pub mod dialogue;
mod dns;
mod ftp;
mod grpc;
mod h2talk;
mod http;
mod http2;
mod imap;
mod ldap;
mod lines;
pub mod md5;
mod mysql;
mod nntp;
mod ping;
pub mod plan;
mod pop3;
mod postgres;
mod radius;
mod redis;
mod say;
mod script;
mod sip;
mod smtp;
mod snmp;
mod telnet;
