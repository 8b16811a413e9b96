//! The neighbour entries of hosts that send to the address: beside each member a host, whose entry expires, and a
//! router, whose entry only an announcement changes.

/// Milliseconds until a host's entry expires.
const AGE: u64 = 3_000;

struct SimulatedNeighbour {
    attached_to: usize,
    believes: Option<usize>,
    /// When a host sends its next request; `None` for a router.
    asks: Option<u64>,
}

/// A frame that claims the address.
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
    /// A host and a router beside each member.
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

    /// Each neighbour, and the member beside it.
    pub fn places(&self) -> Vec<(usize, usize)> {
        self.all.iter().map(|one| one.attached_to).enumerate().collect()
    }

    /// A member's frame is on its way to a neighbour.
    pub fn tell(&mut self, at: u64, to: usize, from: usize) {
        self.frames.push(NeighbourFrame { at, to, from });
    }

    /// Applies the frames that have arrived.
    pub fn hear(&mut self, now: u64) {
        for frame in self.frames.extract_if(.., |one| one.at <= now) {
            self.all[frame.to].believes = Some(frame.from);
        }
    }

    /// Hosts that ask now, and the member beside each.
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

    /// Neighbours that use another member than this: the member beside each, and the member that it uses.
    pub fn astray(&self, holder: usize) -> Vec<(usize, Option<usize>)> {
        let astray = self.all.iter().filter(|one| one.believes != Some(holder));
        astray.map(|one| (one.attached_to, one.believes)).collect()
    }
}
