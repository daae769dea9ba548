//! The passes of a division: what goes through their buffers.

use super::Division;
use crate::fft::Direction;
use crate::fft::large::back_columns::BackColumnParts;
use crate::fft::large::back_parts::BackParts;
use crate::fft::large::lines::COMPLEX;
use crate::fft::large::pages::{ColumnPages, RowPages};
use crate::fft::large::parts::{ColumnParts, RowParts};
use crate::fft::large::real_back::BackRows;
use crate::fft::large::real_column_parts::RealColumnParts;
use crate::fft::large::real_pages::{RealColumns, RealRows};
use crate::fft::large::real_parts::RealParts;
use cp2_host::paging::{Ring, RingPass};

impl Division {
    /// The passes of `batch` transforms from `x` over what is between them to `y`; `factors` of either.
    pub(in crate::fft::large) fn passes(
        &self,
        [first, second]: [Ring; 2],
        batch: u64,
        [x, between, y]: [u64; 3],
        factors: [u64; 2],
    ) -> [RingPass; 2] {
        if self.direction == Direction::Inverse {
            let columns = self.back_columns(&self.columns, batch, [x, between], factors[0]);
            let columns = match self.in_parts(0) {
                true => RingPass::new(first, BackColumnParts { columns }),
                false => RingPass::new(first, columns),
            };
            let (lines, blocks) = (self.rows.clone(), self.blocks());
            if self.in_parts(1) {
                let rows = RowParts {
                    lines,
                    sections: self.sections,
                    matrices: batch,
                    height: blocks.height / 2,
                    tile: 1,
                    from: between,
                    to: y,
                    factors: factors[1],
                };
                return [columns, RingPass::new(second, BackParts { rows, blocks })];
            }
            let rows = RowPages {
                resident: 0,
                lines,
                sections: self.sections,
                matrices: batch,
                height: blocks.height / 2,
                sharing: 1,
                tile: 1,
                from: between,
                to: y,
                factors: factors[1],
            };
            let rows = BackRows {
                rows,
                blocks: self.blocks(),
                resident: self.resident,
                apart: self.has_ends(),
            };
            return [columns, RingPass::new(second, rows)];
        }
        let tiles = self.tiles();
        let parts = || RealColumnParts {
            columns: ColumnParts {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch,
                width: self.rows.len() as u64 / 2,
                from: x,
                to: between,
                tiled: true,
            },
            tiles,
        };
        let wholes = || RealColumns {
            columns: ColumnPages {
                lines: self.columns.clone(),
                sections: self.sections,
                matrices: batch,
                width: self.rows.len() as u64 / 2,
                from: x,
                to: between,
                tiled: None,
                factors: None,
            },
            tiles,
        };
        let columns = match self.in_parts(0) {
            true => RingPass::new(first, parts()),
            false => RingPass::new(first, wholes()),
        };
        let rows = RealRows {
            rows: self.half_rows(),
            matrices: batch,
            tiles,
            from: between,
            to: y,
            pitch: self.pitch() * COMPLEX,
            factors: factors[1],
            resident: self.resident,
        };
        let second = match self.in_parts(1) {
            true => RingPass::new(second, RealParts { rows }),
            false => RingPass::new(second, rows),
        };
        [columns, second]
    }
}
