//! Every row, by where its trouble is.

use crate::stage::TroubleRow;
use crate::{disk, edges, servers, traffic};

pub fn rows() -> impl Iterator<Item = &'static TroubleRow> {
    let parts: [&[TroubleRow]; 4] = [traffic::ROWS, servers::ROWS, edges::ROWS, disk::ROWS];
    parts.into_iter().flatten()
}
