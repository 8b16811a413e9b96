//! The maps' keys and values, their numbers and names: generated from `bpf/abi/*.h`, where they are documented.
//!
//! Structs turn into bytes and back without unsafe code (`bpf::MapValue`). It touches no map.

#![allow(
    missing_docs,
    reason = "padding and fields whose names say all have no words in the headers"
)]

include!(concat!(env!("OUT_DIR"), "/abi.rs"));
