//! Every row, by where its trouble is.

use crate::stage::TroubleRow;
use crate::{disk, edges, files, servers, traffic};

pub fn rows() -> impl Iterator<Item = &'static TroubleRow> {
    let parts: [&[TroubleRow]; 5] =
        [traffic::ROWS, servers::ROWS, edges::ROWS, disk::ROWS, files::ROWS];
    parts.into_iter().flatten()
}
