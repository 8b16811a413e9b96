//! What probes and agents say and understand: bytes in, bytes and a verdict with its evidence out.
//!
//! One file a protocol, each a state machine without socket, clock or thread; times and sockets are the shell's
//! (`daemon`). Which verdict takes a server down is `model::health`'s to say.

pub mod agent;
mod ber;
pub mod context;
pub mod dialogue;
mod dns;
mod ftp;
mod grpc;
mod http;
mod http2;
mod http2_dialogue;
mod http_response;
mod imap;
mod ldap;
mod lines;
pub mod md5;
mod mysql;
mod nntp;
mod ping;
mod pop3;
mod postgres;
pub mod probe_plan;
mod radius;
mod redis;
mod script;
mod send_expect;
mod sip;
mod smtp;
mod snmp;
mod telnet;
