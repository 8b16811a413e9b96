//! Katran's program, which the user builds from its public source, with one service and a hundred servers.
//!
//! Its tables are filled as Katran's library fills them: a ring of 65,537 positions, a flow table for each processor.
//! Sizes are those of `katran/lib/bpf/balancer_structs.h`.

use std::error::Error;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder};

use super::vary::SERVICE;

/// Positions of a service's ring.
const RING: u32 = 65_537;
const SERVERS: u32 = 100;
/// Flows in each processor's table.
const FLOWS: u32 = 4 << 20;
/// Bytes of `struct flow_key` and `struct real_pos_lru`.
const FLOW: (u32, u32) = (40, 16);

#[derive(Debug)]
pub struct KatranProgram {
    program: OwnedFd,
    _object: Object,
    _flows: Vec<MapHandle>,
}

impl KatranProgram {
    /// Loads the program and fills its maps.
    pub fn load(object: &Path) -> Result<KatranProgram, Box<dyn Error>> {
        let object = ObjectBuilder::default().open_file(object)?.load()?;
        let set = |map: &str, key: &[u8], value: &[u8]| -> Result<(), Box<dyn Error>> {
            let found = object.maps().find(|one| one.name() == map);
            let found = found.ok_or(format!("the object has no map {map}"))?;
            Ok(found.update(key, value, MapFlags::ANY)?)
        };
        let zero = 0u32.to_ne_bytes();
        // Key: address, port in network order, protocol. Value: no flags, service 0.
        let mut vip = [0; 20];
        vip[..4].copy_from_slice(&SERVICE);
        vip[16..18].copy_from_slice(&80u16.to_be_bytes());
        vip[18] = 6;
        set("vip_map", &vip, &[0; 8])?;
        set("ctl_array", &zero, &[2, 0, 0, 0, 0, 2, 0, 0])?;
        for server in 1..=SERVERS {
            let mut real = [0; 20];
            real[..4].copy_from_slice(&[10, 10, 0, server as u8]);
            set("reals", &server.to_ne_bytes(), &real)?;
        }
        for place in 0..RING {
            // Spread like a hash: neighbours in the ring are different servers.
            let server = 1 + place.wrapping_mul(2_654_435_761) % SERVERS;
            set("ch_rings", &place.to_ne_bytes(), &server.to_ne_bytes())?;
        }
        let mut flows = Vec::new();
        for cpu in 0..std::thread::available_parallelism()?.get().max(2) as u32 {
            let options = bpf_map_create_opts {
                sz: size_of::<bpf_map_create_opts>() as _,
                ..Default::default()
            };
            let (key, value) = FLOW;
            let map =
                MapHandle::create(MapType::LruHash, Some("flows"), key, value, FLOWS, &options)?;
            set("lru_mapping", &cpu.to_ne_bytes(), &map.as_fd().as_raw_fd().to_ne_bytes())?;
            flows.push(map);
        }
        let program = object.progs_mut().find(|one| one.name() == "balancer_ingress");
        let program = program.ok_or("the object has no program balancer_ingress")?;
        let program = program.as_fd().try_clone_to_owned()?;
        Ok(KatranProgram { program, _object: object, _flows: flows })
    }

    pub fn program(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}
