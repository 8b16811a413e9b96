//! What those believe who send to the address: beside each member a host, whose entry ends, and a router, whose entry
//! stays as it is until somebody announces the address.

/// Hosts ask anew after so long, in milliseconds.
const AGE: u64 = 3_000;

struct SimulatedNeighbour {
    attached_to: usize,
    believes: Option<usize>,
    /// When a host asks next; a router does not.
    asks: Option<u64>,
}

/// A frame that says where the address is.
struct NeighbourFrame {
    at: u64,
    to: usize,
    from: usize,
}

pub struct NeighbourTables {
    all: Vec<SimulatedNeighbour>,
    frames: Vec<NeighbourFrame>,
}

impl NeighbourTables {
    /// Two beside each of so many members.
    pub fn new(members: usize) -> NeighbourTables {
        let both = |beside| {
            [None, Some(AGE)].map(|asks| SimulatedNeighbour {
                attached_to: beside,
                believes: None,
                asks,
            })
        };
        NeighbourTables { all: (0..members).flat_map(both).collect(), frames: Vec::new() }
    }

    /// Each of them, and the member that it is beside.
    pub fn places(&self) -> Vec<(usize, usize)> {
        self.all.iter().map(|one| one.attached_to).enumerate().collect()
    }

    /// A frame of a member is on its way to one of them.
    pub fn tell(&mut self, at: u64, to: usize, from: usize) {
        self.frames.push(NeighbourFrame { at, to, from });
    }

    /// What has arrived is believed.
    pub fn hear(&mut self, now: u64) {
        for frame in self.frames.extract_if(.., |one| one.at <= now) {
            self.all[frame.to].believes = Some(frame.from);
        }
    }

    /// Those that ask now, and the member that each is beside.
    pub fn ask(&mut self, now: u64) -> Vec<(usize, usize)> {
        let mut asking = Vec::new();
        for (at, one) in self.all.iter_mut().enumerate() {
            if one.asks.is_some_and(|asks| asks <= now) {
                one.asks = Some(now + AGE);
                asking.push((at, one.attached_to));
            }
        }
        asking
    }

    /// Those that believe another one than this: the member that each is beside, and whom it believes.
    pub fn astray(&self, holder: usize) -> Vec<(usize, Option<usize>)> {
        let astray = self.all.iter().filter(|one| one.believes != Some(holder));
        astray.map(|one| (one.attached_to, one.believes)).collect()
    }
}
