//! Health check protocols: bytes in, bytes and a result with its evidence out.
//!
//! One file for each protocol, each a state machine without socket, clock or thread. The daemon has the sockets and
//! timers. `model::health` decides which results take a server down.

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
mod ldap_result;
mod ldap_search;
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
